// The task table of a project, of its sub-projects with it, or of everything ("*").
import { Button } from '@mantine/core';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { listPause, MOST_CHOSEN, readTasks, useProject, useProjects, useTaskCount, useTasks, useUser } from '../../api/queries';
import type { Task } from '../../api/types';
import { showDialog } from '../../components/dialogs/store';
import { Shell } from '../../components/shell';
import { toastError } from '../../components/toast';
import { Empty, Failed, Gone, isGone, LoadingRows } from '../../components/states';
import { csv } from '../../lib/csv';
import { saveText } from '../../lib/clipboard';
import { formatCount } from '../../lib/format';
import { useKeys } from '../../lib/keys';
import { parseQuery, queryFilter } from '../../lib/query';
import { isArchived, statusOf } from '../../lib/task';
import { setWalk } from '../../lib/walk';
import { useParam } from '../../router';
import { childrenOf, projectCrumbs } from '../projects/projects';
import { ProjectTabs } from '../projects/tabs';
import { BulkBar, startAction } from './bulk';
import { findColumns, useColumns } from './columns';
import { TaskGrid, type RowAction } from './grid';
import { viewOf, type RowView } from './row';
import { Chips, FilterMenu, LiveSwitch, TableTools } from './tools';
import './tasks.css';

const NONE = new Set<string>();
const NOTHING: ReadonlyMap<string, Task> = new Map();

export function Tasks({ project }: { project: string }) {
  const [text, setText] = useParam('q', '');
  const [order, setOrder] = useParam('sort', '-last_update');
  const [live, setLive] = useState(true);
  const [selected, setSelected] = useState<Set<string>>(NONE);
  const box = useRef<HTMLInputElement>(null);
  useKeys(
    useMemo(
      () => ({
        '/': () => {
          box.current?.focus();
          box.current?.select();
        },
      }),
      [],
    ),
  );
  const user = useUser();
  const projects = useProjects();
  const own = useProject(project);
  const filter = useMemo(() => queryFilter(parseQuery(text), user.data?.id ?? null), [text, user.data?.id]);
  const q = useTasks(project, filter, order, live);
  const tasks = useMemo(() => {
    const seen = new Set<string>();
    return (q.data?.pages ?? []).flat().filter((t) => !seen.has(t.id) && seen.add(t.id));
  }, [q.data]);
  const rows = useMemo(() => tasks.map(viewOf), [tasks]);
  const found = useMemo(() => findColumns(tasks), [tasks]);
  const [cols, setCols, ownCols] = useColumns(project, found);
  // Chosen tasks that are not among the loaded ones: what "Select all" read, for as long as the filter stays.
  const [beyond, setBeyond] = useState(NOTHING);
  const [reading, setReading] = useState<number | null>(null);
  const [menu, setMenu] = useState(false);
  useEffect(() => setBeyond(NOTHING), [filter]);
  const chosen = useMemo(() => {
    const here = tasks.filter((t) => selected.has(t.id)),
      loaded = new Set(tasks.map((t) => t.id));
    return [...here, ...[...beyond.values()].filter((t) => selected.has(t.id) && !loaded.has(t.id))];
  }, [tasks, selected, beyond]);
  useEffect(() => setWalk(tasks.map((t) => ({ id: t.id, project: t.project?.id ?? '*' }))), [tasks]);
  const clear = useCallback(() => {
    setSelected(NONE);
    setBeyond(NOTHING);
    setMenu(false);
  }, []);
  const rowAct = useCallback(
    (what: RowAction, under: RowView): void => {
      const on = chosen.length > 0 ? chosen : [under.task];
      if (what === 'menu') {
        if (chosen.length === 0) setSelected(new Set([under.task.id]));
        setMenu(true);
      } else if (what === 'archive') startAction(on.every(isArchived) ? 'unarchive' : 'archive', on, clear);
      else if (what === 'tags') showDialog({ kind: 'tags', tasks: on });
      else if (on.length === 1) startAction('clone', on, clear);
    },
    [chosen, clear],
  );

  const all = projects.data ?? [];
  const self = all.find((p) => p.id === project) ?? own.data;
  const total =
    project === '*'
      ? projects.data
        ? all.filter((p) => !p.name.includes('/')).reduce((a, p) => a + (p.stats?.active?.total_tasks ?? 0), 0)
        : null
      : (self?.stats?.active?.total_tasks ?? null);
  const filtered = text.trim() !== '';
  const counted = useTaskCount(project, filter, filtered && q.hasNextPage);
  const matching = filtered ? counted : total;
  const allShown = tasks.length > 0 && q.hasNextPage && chosen.length >= tasks.length && tasks.every((t) => selected.has(t.id));
  const selectAll = (): void => {
    setReading(tasks.length);
    readTasks(project, filter, order, setReading)
      .then(
        (all) => {
          setBeyond(new Map(all.map((t) => [t.id, t])));
          setSelected(new Set(all.map((t) => t.id)));
        },
        (e: unknown) => toastError('Not all could be selected', e),
      )
      .finally(() => setReading(null));
  };
  const tags = useMemo(() => [...new Set(tasks.flatMap((t) => t.tags ?? []))].sort(), [tasks]);
  const running = tasks.filter((t) => statusOf(t) === 'running').length,
    failed = tasks.filter((t) => statusOf(t) === 'failed').length;
  const part = q.hasNextPage && matching !== null && matching > tasks.length;
  const shown = `${formatCount(tasks.length)}${q.hasNextPage && !part ? '+' : ''}`;
  const exportCsv = (): void =>
    saveText(
      'tasks.csv',
      csv([
        ['id', 'name', 'status', 'project', 'user', 'started', 'completed', ...cols.metrics, ...cols.params],
        ...rows.map((r) => [
          r.task.id,
          r.task.name ?? '',
          statusOf(r.task),
          r.task.project?.name ?? '',
          r.task.user?.name ?? '',
          r.task.started ?? '',
          r.task.completed ?? '',
          ...cols.metrics.map((k) => String(r.metrics.get(k)?.value ?? '')),
          ...cols.params.map((k) => r.params.get(k) ?? ''),
        ]),
      ]),
      'text/csv',
    );
  const name = project === '*' ? 'All tasks' : (self?.name ?? 'Project');
  return (
    <Shell nav={project === '*' ? 'tasks' : 'projects'} title={name} crumbs={self ? projectCrumbs(all, self.name) : [{ label: name }]}>
      <div className="page tasks">
        {self && (
          <ProjectTabs id={project} on="tasks" tasks={total ?? undefined} projects={self.x_children ?? childrenOf(all, self.name).length} />
        )}
        {!isGone(own.error) && (
          <>
            <TableTools value={text} onChange={setText} box={box} cols={cols} found={found} setCols={setCols} exportCsv={exportCsv} />
            <div className="chips">
              <FilterMenu value={text} onChange={setText} tags={tags} />
              <Chips value={text} onChange={setText} />
              <span className="tsum" role="status">
                {q.data && (
                  <>
                    <b>{shown}</b>
                    {part ? ` of ${formatCount(matching)} tasks` : tasks.length === 1 ? ' task' : ' tasks'}
                    {running > 0 && (
                      <>
                        <i>·</i>
                        <span className="r">
                          <b>{running}</b> running
                        </span>
                      </>
                    )}
                    {failed > 0 && (
                      <>
                        <i>·</i>
                        <span className="fl">
                          <b>{failed}</b> failed
                        </span>
                      </>
                    )}
                  </>
                )}
              </span>
              <LiveSwitch live={live} resting={listPause(q.data?.pages.length ?? 0, 1) === false} setLive={setLive} />
            </div>
          </>
        )}
        {isGone(own.error) ? (
          <Gone what="project" to="/projects" place="All projects" />
        ) : q.error && !q.data ? (
          <Failed what="The tasks could not be loaded" error={q.error} retry={() => void q.refetch()} />
        ) : q.isPending ? (
          <div className="gridwrap">
            <LoadingRows n={16} />
          </div>
        ) : rows.length === 0 ? (
          <div className="gridwrap">
            <Empty
              title={filtered ? 'No task matches' : 'No task here yet'}
              action={filtered ? <Button onClick={() => setText('')}>Clear filters</Button> : undefined}
            >
              {filtered ? (
                'The filter hides everything in this list.'
              ) : (
                <>
                  A script with <code>Task.init(project_name="{self?.name ?? 'first'}", task_name="…")</code> appears here as soon as it
                  starts.
                </>
              )}
            </Empty>
          </div>
        ) : (
          <TaskGrid
            rows={rows}
            cols={cols}
            found={found}
            order={order}
            setOrder={setOrder}
            auto={!ownCols}
            act={rowAct}
            wide={project === '*'}
            total={matching}
            selected={selected}
            setSelected={setSelected}
            more={q.hasNextPage && !q.isFetchingNextPage}
            loadMore={() => void q.fetchNextPage()}
          />
        )}
        {chosen.length > 0 && (
          <BulkBar
            tasks={chosen}
            clear={clear}
            menu={menu}
            setMenu={setMenu}
            all={
              allShown && (matching === null || matching > chosen.length) && chosen.length < MOST_CHOSEN
                ? { matching, reading, selectAll }
                : null
            }
          />
        )}
      </div>
    </Shell>
  );
}

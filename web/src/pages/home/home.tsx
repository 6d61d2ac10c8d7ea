// Home: what runs, waits and failed lately, and the projects last worked on; on an empty server the three steps to a first task.
import { useQuery } from '@tanstack/react-query';
import { call } from '../../api/call';
import { useProjects } from '../../api/queries';
import type { Task } from '../../api/types';
import { Ago, Bar, Dot, StatusBadge } from '../../components/bits';
import { Shell } from '../../components/shell';
import { Empty, Failed, LoadingRows } from '../../components/states';
import { colorSlot } from '../../lib/color';
import { parseTime } from '../../lib/format';
import { progressOf, reasonOf, statusOf } from '../../lib/task';
import { Link, projectPath, taskPath } from '../../router';
import { ProjectCard } from '../projects/card';
import { FirstRun } from './first';
import './home.css';

const FIELDS = [
  'name',
  'status',
  'status_message',
  'status_reason',
  'project.name',
  'user.name',
  'last_update',
  'status_changed',
  'runtime.progress',
  'execution.queue.name',
];

function useLatest(status: string[], n: number) {
  return useQuery({
    queryKey: ['tasks.get_all_ex', 'home', status],
    queryFn: ({ signal }) =>
      call(
        'tasks.get_all_ex',
        {
          ...(status.length ? { status } : {}),
          system_tags: ['-archived'],
          order_by: ['-last_update'],
          page: 0,
          page_size: n,
          only_fields: FIELDS,
        },
        { signal },
      ).then((d) => d.tasks),
    refetchInterval: 5_000,
  });
}
function Row({ t }: { t: Task }) {
  const s = statusOf(t),
    pct = progressOf(t),
    why = reasonOf(t);
  return (
    <li>
      <Link to={taskPath(t.project?.id ?? '*', t.id)}>
        <Dot c={colorSlot(t.id)} />
        <b className="cut" title={t.name}>
          {t.name}
        </b>
        <span className="mut cut hide-s hproj" title={t.project?.name}>
          {t.project?.name}
        </span>
        <span className="sp" />
        {s === 'running' && pct !== null && (
          <>
            <span className="hbar">
              <Bar pct={pct} />
            </span>
            <span className="num-s small">{Math.round(pct)} %</span>
          </>
        )}
        {why && (
          <span className={`cut small hwhy${s === 'failed' ? ' err' : ' tx2'}`} title={why}>
            {why}
          </span>
        )}
        <StatusBadge s={s} pct={pct} />
        <span className="hago mut small">
          <Ago t={parseTime(t.last_update)} />
        </span>
      </Link>
    </li>
  );
}
function List({ title, to, status, none }: { title: string; to: string; status: string[]; none: string }) {
  const q = useLatest(status, 6);
  return (
    <section className="card hlist">
      <div className="ch">
        <h2>{title}</h2>
        <span className="sp" />
        <Link className="full" to={to}>
          All
        </Link>
      </div>
      {q.isPending ? (
        <LoadingRows n={3} />
      ) : q.error && !q.data ? (
        <Failed what={`${title} could not be loaded`} error={q.error} retry={() => void q.refetch()} />
      ) : q.data?.length ? (
        <ul>
          {q.data.map((t) => (
            <Row key={t.id} t={t} />
          ))}
        </ul>
      ) : (
        <p className="hnone">{none}</p>
      )}
    </section>
  );
}

export function Home() {
  const any = useLatest([], 6);
  const projects = useProjects();
  const empty = any.data?.length === 0;
  const recent = (projects.data ?? []).filter((p) => (p.own_tasks ?? p.stats?.active?.total_tasks ?? 0) > 0).slice(0, 3);
  return (
    <Shell nav="home" title="Home" crumbs={[{ label: 'Home' }]}>
      <div className="page home">
        {any.error && !any.data ? (
          <Failed what="The tasks could not be loaded" error={any.error} retry={() => void any.refetch()} />
        ) : any.isPending ? (
          <div className="hgrid">
            <LoadingRows n={6} />
          </div>
        ) : empty ? (
          <FirstRun />
        ) : (
          <div className="hgrid">
            <h1 className="vh">Home</h1>
            <List
              title="Running and waiting"
              to="/projects/*/tasks?q=status:running,queued"
              status={['in_progress', 'queued']}
              none="Nothing runs and nothing waits."
            />
            <List title="Failed last" to="/projects/*/tasks?q=status:failed" status={['failed']} none="No task has failed." />
            <section>
              <div className="hsec">
                <h2>Recent projects</h2>
                <span className="sp" />
                <Link className="link small" to="/projects">
                  All projects
                </Link>
              </div>
              {projects.error && !projects.data ? (
                <Failed what="The projects could not be loaded" error={projects.error} retry={() => void projects.refetch()} />
              ) : recent.length ? (
                <div className="pgrid">
                  {recent.map((p) => (
                    <ProjectCard key={p.id} p={p} to={projectPath(p.id)} />
                  ))}
                </div>
              ) : (
                <Empty title="No project yet" />
              )}
            </section>
            <List title="Latest changes" to="/projects/*/tasks" status={[]} none="" />
          </div>
        )}
      </div>
    </Shell>
  );
}

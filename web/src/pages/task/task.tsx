// The task page: head with state, reason and actions, tabs below. Tabs that need charts or logs come in their own chunks.
import { lazy, Suspense, useEffect, useMemo, useRef } from 'react';
import { useProjects, useServer, useTask } from '../../api/queries';
import { useWatch } from '../../api/watch';
import type { Task } from '../../api/types';
import { ErrorBoundary } from '../../components/errors';
import { Shell, type Crumb } from '../../components/shell';
import { Failed, Gone, isGone, LoadingCards } from '../../components/states';
import { showDialog } from '../../components/dialogs/store';
import { artifactItems } from '../../lib/artifacts';
import { useKeys } from '../../lib/keys';
import { metricsOf, shortId, statusOf } from '../../lib/task';
import { walkAt } from '../../lib/walk';
import { Link, navigate, projectPath, TABS, taskPath, type Tab } from '../../router';
import { projectCrumbs } from '../projects/projects';
import { TaskHead } from './head';
import './task.css';

const views: Record<Tab, ReturnType<typeof lazy<(p: { task: Task }) => React.ReactNode>>> = {
  summary: lazy(() => import('./summary')),
  execution: lazy(() => import('./execution')),
  config: lazy(() => import('./config')),
  artifacts: lazy(() => import('./artifacts')),
  console: lazy(() => import('./console')),
  scalars: lazy(() => import('./scalars')),
  plots: lazy(() => import('./plots')),
  images: lazy(() => import('./images')),
  info: lazy(() => import('./info')),
};
const LABEL: Record<Tab, string> = {
  summary: 'Summary',
  execution: 'Execution',
  config: 'Config',
  artifacts: 'Artifacts',
  console: 'Console',
  scalars: 'Scalars',
  plots: 'Plots',
  images: 'Images',
  info: 'Info',
};

function count(t: Task, tab: Tab): number {
  if (tab === 'config')
    return Object.values(t.hyperparams ?? {}).reduce((a, s) => a + Object.keys(s).length, 0) + Object.keys(t.configuration ?? {}).length;
  if (tab === 'artifacts') return artifactItems(t, new Map()).length;
  if (tab === 'scalars') return metricsOf(t, true).length;
  return 0;
}
function Tabs({ t, project, on }: { t: Task; project: string; on: Tab }) {
  const box = useRef<HTMLElement>(null);
  // Braces matter: scrollIntoView answers a promise in newer browsers, and an effect must answer nothing.
  useEffect(() => {
    void box.current?.querySelector('[aria-current]')?.scrollIntoView({ inline: 'center', block: 'nearest' });
  }, [on]);
  return (
    <nav className="ptabs" aria-label="Task" ref={box}>
      {TABS.map((tab) => {
        const n = count(t, tab);
        return (
          <Link key={tab} to={taskPath(project, t.id, tab)} aria-current={tab === on ? 'page' : undefined}>
            {LABEL[tab]}
            {n > 0 && <span className="n">{n}</span>}
            {tab === 'console' && statusOf(t) === 'failed' && <i className="errdot" title="The task failed" />}
          </Link>
        );
      })}
    </nav>
  );
}

export default function TaskPage({ project, id, tab }: { project: string; id: string; tab: Tab }) {
  const q = useTask(id);
  useWatch(q.data);
  const projects = useProjects();
  const server = useServer();
  // Links to files need the server's word on where its files are; without an answer they are guessed.
  const t = server.isPending ? undefined : q.data;
  const real = t?.project?.id;
  // "*" and moved tasks: the address follows the task's own project.
  useEffect(() => {
    if (real && real !== project) navigate(taskPath(real, id, tab) + location.search + location.hash, { replace: true });
  }, [real, project, id, tab]);
  useKeys(
    useMemo(
      () => ({
        ...Object.fromEntries(TABS.map((name, i) => [String(i + 1), () => navigate(taskPath(project, id, name))])),
        '[': () => {
          const p = walkAt(id)?.prev;
          if (p) navigate(taskPath(p.project, p.id, tab));
        },
        ']': () => {
          const p = walkAt(id)?.next;
          if (p) navigate(taskPath(p.project, p.id, tab));
        },
        n: () => {
          if (t) showDialog({ kind: 'clone', task: t });
        },
      }),
      [project, id, t, tab],
    ),
  );
  const all = projects.data ?? [];
  const name = all.find((p) => p.id === (real ?? project))?.name ?? t?.project?.name;
  const way = name ? projectCrumbs(all, name) : [{ label: 'Projects', to: '/projects' }];
  const crumbs: Crumb[] = [...way.map((c, i) => ({ ...c, onPhone: i === way.length - 1 })), { label: t?.name ?? shortId(id) }];
  const View = views[tab];
  return (
    <Shell nav="projects" title={t?.name ?? 'Task'} crumbs={crumbs}>
      <div className={`page task tab-${tab}`}>
        {isGone(q.error) ? (
          <Gone what="task" to={projectPath(project)} place={project === '*' ? 'All tasks' : 'Tasks of its project'} />
        ) : t ? (
          <>
            <div className="thead">
              <TaskHead task={t} tab={tab} />
              <Tabs t={t} project={project} on={tab} />
            </div>
            <ErrorBoundary key={tab} what={`The ${LABEL[tab].toLowerCase()}`}>
              <Suspense
                fallback={
                  <div className="body">
                    <LoadingCards n={4} />
                  </div>
                }
              >
                <View task={t} />
              </Suspense>
            </ErrorBoundary>
          </>
        ) : q.error ? (
          <Failed what="This task could not be loaded" error={q.error} retry={() => void q.refetch()} />
        ) : (
          <div className="body">
            <LoadingCards n={4} />
          </div>
        )}
      </div>
    </Shell>
  );
}

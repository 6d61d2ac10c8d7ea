// Projects as cards with counts. Names hold the tree ("vision/segmentation"): one level at a time, search over all.
import { Button } from '@mantine/core';
import { IconListDetails, IconSearch } from '@tabler/icons-react';
import { useMemo, useRef } from 'react';
import { useProject, useProjectLevel, useProjects } from '../../api/queries';
import type { Project } from '../../api/types';
import { Shell, type Crumb } from '../../components/shell';
import { Empty, Failed, Gone, isGone, LoadingCards } from '../../components/states';
import { plural } from '../../lib/format';
import { useKeys } from '../../lib/keys';
import { path } from '../../lib/url';
import { navigate, projectPath, useParam } from '../../router';
import { ProjectCard } from './card';
import { ProjectTabs } from './tabs';

const NONE: Project[] = [];

/** Direct children of `prefix`; a parent that exists only as part of names is not invented, its children stand here instead. */
export function childrenOf(all: Project[], prefix: string): Project[] {
  const names = new Set(all.map((p) => p.name));
  return all.filter((p) => {
    if (prefix && !p.name.startsWith(`${prefix}/`)) return false;
    const rest = prefix ? p.name.slice(prefix.length + 1) : p.name;
    const parts = rest.split('/');
    for (let i = 1; i < parts.length; i++) if (names.has((prefix ? `${prefix}/` : '') + parts.slice(0, i).join('/'))) return false;
    return true;
  });
}

/** Breadcrumb of a project's name, every part that exists as a link. */
export function projectCrumbs(all: Project[], name: string): Crumb[] {
  const byName = new Map(all.map((p) => [p.name, p.id]));
  const parts = name.split('/');
  return [
    { label: 'Projects', to: '/projects' },
    ...parts.map((label, i): Crumb => {
      const id = byName.get(parts.slice(0, i + 1).join('/'));
      return id ? { label, to: projectPath(id) } : { label };
    }),
  ];
}

export function Projects({ parent }: { parent: string | null }) {
  const names = useProjects();
  const own = useProject(parent ?? '*');
  const [text, setText] = useParam('q', '');
  const q = useProjectLevel(parent, text.trim());
  const box = useRef<HTMLInputElement>(null);
  useKeys(useMemo(() => ({ '/': () => box.current?.focus() }), []));
  const all = names.data ?? NONE;
  const self = parent ? (all.find((p) => p.id === parent) ?? own.data) : undefined;
  const prefix = self?.name ?? '';
  const list = useMemo(() => (q.data?.pages ?? []).flat(), [q.data]);
  const inside = (p: Project): number => p.x_children ?? childrenOf(all, p.name).length;
  const crumbs = self ? projectCrumbs(all, self.name) : [{ label: 'Projects' }];
  return (
    <Shell nav="projects" title={self?.name ?? 'Projects'} crumbs={crumbs}>
      <div className="page">
        {self && <ProjectTabs id={self.id} on="projects" tasks={self.stats?.active?.total_tasks} projects={inside(self)} />}
        <div className="ptool">
          <h1>{self ? self.name.split('/').pop() : 'Projects'}</h1>
          <label className="search">
            <IconSearch size={14} stroke={1.6} />
            <input
              ref={box}
              value={text}
              onChange={(e) => setText(e.target.value)}
              placeholder="Search projects"
              aria-label="Search projects"
              onKeyDown={(e) => {
                if (e.key === 'Escape') {
                  setText('');
                  e.currentTarget.blur();
                }
              }}
            />
            <kbd>/</kbd>
          </label>
          <span className="sp" />
          <span className="mut small num-s hide-s">
            {q.data ? `${plural(list.length, 'project')}${q.hasNextPage ? ' and more' : ''}` : ''}
          </span>
          <Button
            leftSection={<IconListDetails size={15} stroke={1.6} />}
            onClick={() => navigate(self ? projectPath(self.id) : '/projects/*/tasks')}
          >
            {self ? 'Tasks' : 'All tasks'}
          </Button>
        </div>
        <div className="body">
          {isGone(own.error) ? (
            <Gone what="project" to="/projects" place="All projects" />
          ) : q.isPending ? (
            <LoadingCards />
          ) : q.error && !q.data ? (
            <Failed what="The projects could not be loaded" error={q.error} retry={() => void q.refetch()} />
          ) : list.length === 0 ? (
            text ? (
              <Empty title="No project has this name" action={<Button onClick={() => setText('')}>Clear the search</Button>} />
            ) : (
              <Empty title={self ? 'No projects inside' : 'No project yet'}>
                A project is made when a task names it: <code>Task.init(project_name="vision/segmentation", …)</code>.
              </Empty>
            )
          ) : (
            <>
              <div className="pgrid">
                {list.map((p) => (
                  <ProjectCard
                    key={p.id}
                    p={p}
                    to={totalIsOwn(p) || inside(p) === 0 ? projectPath(p.id) : path('projects', p.id)}
                    name={text ? p.name : prefix ? p.name.slice(prefix.length + 1) : p.name}
                  >
                    {inside(p)}
                  </ProjectCard>
                ))}
              </div>
              {q.hasNextPage && (
                <div className="pmore">
                  <Button loading={q.isFetchingNextPage} onClick={() => void q.fetchNextPage()}>
                    Show more
                  </Button>
                </div>
              )}
            </>
          )}
        </div>
      </div>
    </Shell>
  );
}
/** A project with tasks of its own opens its table; a pure folder opens its children. */
const totalIsOwn = (p: Project): boolean => (p.own_tasks ?? 0) > 0;

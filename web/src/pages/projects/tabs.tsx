// The tabs of one project: its tasks, and the projects inside.
import { path } from '../../lib/url';
import { Link, projectPath } from '../../router';

export function ProjectTabs({
  id,
  on,
  tasks,
  projects,
}: {
  id: string;
  on: 'tasks' | 'projects';
  tasks: number | undefined;
  projects: number;
}) {
  return (
    <nav className="ptabs" aria-label="Project">
      <Link to={projectPath(id)} aria-current={on === 'tasks' ? 'page' : undefined}>
        Tasks{tasks !== undefined && <span className="n">{tasks.toLocaleString('en')}</span>}
      </Link>
      {(projects > 0 || on === 'projects') && (
        <Link to={path('projects', id)} aria-current={on === 'projects' ? 'page' : undefined}>
          Projects<span className="n">{projects}</span>
        </Link>
      )}
    </nav>
  );
}

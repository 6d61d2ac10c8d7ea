// From route to page. Task tabs and rarely used pages are loaded when first opened.
import { lazy, Suspense, useEffect, useMemo } from 'react';
import { onUnauthorised } from './api/call';
import { client } from './api/queries';
import { DialogHost } from './components/dialogs/host';
import { ErrorBoundary } from './components/errors';
import { Help, openHelp } from './components/help';
import { openPalette, Palette } from './components/palette';
import { Shell } from './components/shell';
import { Empty } from './components/states';
import { Toasts } from './components/toast';
import { useKeys } from './lib/keys';
import { Home } from './pages/home/home';
import { Login } from './pages/login/login';
import { Projects } from './pages/projects/projects';
import { Tasks } from './pages/tasks/tasks';
import { Link, navigate, useRoute, type Route } from './router';

const TaskPage = lazy(() => import('./pages/task/task'));
const Queues = lazy(() => import('./pages/queues/queues'));
const Workers = lazy(() => import('./pages/queues/workers'));

function Page({ route }: { route: Route }) {
  switch (route.page) {
    case 'home':
      return <Home />;
    case 'projects':
      return <Projects parent={null} />;
    case 'project':
      return <Projects parent={route.project} />;
    case 'tasks':
      return <Tasks key={route.project} project={route.project} />;
    case 'task':
      return <TaskPage key={route.task} project={route.project} id={route.task} tab={route.tab} />;
    case 'queues':
      return <Queues queue={route.queue} />;
    case 'workers':
      return <Workers />;
    case 'login':
    case 'redirect':
      return null;
    case 'missing':
      return (
        <Shell nav="home" title="Not found" crumbs={[{ label: 'Not found' }]}>
          <Empty title="There is no page at this address">
            Perhaps the link is cut short.{' '}
            <Link className="link" to="/projects">
              All projects
            </Link>
          </Empty>
        </Shell>
      );
  }
}

/** After a 401: to the login page, with the way back. */
function toLogin(): void {
  if (location.pathname === '/login') return;
  const here = location.pathname + location.search + location.hash;
  const q = new URLSearchParams(here === '/' ? {} : { next: here });
  // Whoever was logged in a moment ago is told why the login page is there.
  if (client.getQueryData(['users.get_current_user'])) q.set('ended', '1');
  navigate(`/login${q.size ? `?${q}` : ''}`, { replace: true });
}

export function App() {
  const route = useRoute();
  useEffect(() => onUnauthorised(toLogin), []);
  const keys = useMemo(
    () => ({
      'mod+k': openPalette,
      '?': openHelp,
      'g h': () => navigate('/'),
      'g p': () => navigate('/projects'),
      'g t': () => navigate('/projects/*/tasks'),
      'g q': () => navigate('/queues'),
      'g w': () => navigate('/workers'),
    }),
    [],
  );
  useKeys(keys, route.page !== 'login');
  if (route.page === 'login') return <Login />;
  return (
    <>
      <ErrorBoundary key={route.page} what="This page">
        <Suspense fallback={null}>
          <Page route={route} />
        </Suspense>
      </ErrorBoundary>
      <DialogHost />
      <Palette />
      <Help />
      <Toasts />
    </>
  );
}

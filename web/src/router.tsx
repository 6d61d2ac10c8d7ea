// The own router: paths to typed routes, links that push, and redirects for every address that an SDK or an older UI prints.
import { useEffect, useMemo, useSyncExternalStore, type AnchorHTMLAttributes, type MouseEvent } from 'react';
import { path } from './lib/url';

export const TABS = ['summary', 'execution', 'config', 'artifacts', 'console', 'scalars', 'plots', 'images', 'info'] as const;
export type Tab = (typeof TABS)[number];

export type Route =
  | { page: 'home' }
  | { page: 'login' }
  | { page: 'projects' }
  | { page: 'project'; project: string }
  | { page: 'tasks'; project: string }
  | { page: 'task'; project: string; task: string; tab: Tab }
  | { page: 'queues'; queue: string | null }
  | { page: 'workers' }
  | { page: 'redirect'; to: string }
  | { page: 'missing' };

/** Tab names other clients use, by the first part of their path that means one. */
const FOREIGN_TABS: Record<string, Tab> = {
  log: 'console',
  console: 'console',
  scalar: 'scalars',
  scalars: 'scalars',
  plots: 'plots',
  'debug-images': 'images',
  debugimages: 'images',
  samples: 'images',
  images: 'images',
  execution: 'execution',
  'hyper-params': 'config',
  'hyper-param': 'config',
  configuration: 'config',
  config: 'config',
  artifacts: 'artifacts',
  models: 'artifacts',
  general: 'info',
  info: 'info',
  summary: 'summary',
  details: 'summary',
};
export function foreignTab(rest: string[]): Tab {
  for (const part of rest) {
    const tab = FOREIGN_TABS[part.toLowerCase()];
    if (tab) return tab;
  }
  return 'summary';
}

const decode = (s: string): string => {
  try {
    return decodeURIComponent(s);
  } catch {
    return s;
  }
};

export function parseRoute(pathname: string): Route {
  // Older UIs hang parameters on a segment (";ids=…"); they name no page.
  const p = pathname
    .split('/')
    .filter(Boolean)
    .map((s) => decode(s.split(';')[0] ?? ''));
  const [a, b, c, d] = p;
  if (!a || a === 'dashboard') return a ? { page: 'redirect', to: '/' } : { page: 'home' };
  if (a === 'login') return { page: 'login' };
  if (a === 'projects') {
    if (!b) return { page: 'projects' };
    if (!c || c === 'projects' || c === 'overview')
      return c === 'overview' ? { page: 'redirect', to: path('projects', b) } : { page: 'project', project: b };
    if (c === 'tasks') {
      if (!d) return { page: 'tasks', project: b };
      const tab = p[4] as Tab | undefined;
      if (p.length <= 4) return { page: 'task', project: b, task: d, tab: 'summary' };
      if (p.length === 5 && tab && TABS.includes(tab)) return { page: 'task', project: b, task: d, tab };
      return { page: 'redirect', to: path('projects', b, 'tasks', d, foreignTab(p.slice(4))) };
    }
    if (c === 'experiments') return { page: 'redirect', to: d ? taskPath(b, d, foreignTab(p.slice(4))) : path('projects', b, 'tasks') };
    return { page: 'missing' };
  }
  if (a === 'tasks') return { page: 'redirect', to: b ? taskPath('*', b, foreignTab(p.slice(2))) : path('projects', '*', 'tasks') };
  if (a === 'queues') return { page: 'queues', queue: b ?? null };
  if (a === 'workers') return { page: 'workers' };
  if (a === 'workers-and-queues') return { page: 'redirect', to: b === 'queues' ? '/queues' : '/workers' };
  return { page: 'missing' };
}

/** The address of a task; the summary is its plain address. */
export const taskPath = (project: string, task: string, tab: Tab = 'summary'): string =>
  path('projects', project, 'tasks', task, ...(tab === 'summary' ? [] : [tab]));
export const projectPath = (project: string): string => path('projects', project, 'tasks');

const listeners = new Set<() => void>();
const tell = (): void => listeners.forEach((f) => f());
let back = false;
if (typeof window !== 'undefined')
  window.addEventListener('popstate', () => {
    back = true;
    tell();
  });
/** Whether the current page was reached by the browser's Back or Forward. */
export const cameBack = (): boolean => back;

export function navigate(to: string, opt: { replace?: boolean } = {}): void {
  if (!opt.replace) back = false;
  if (opt.replace) history.replaceState(null, '', to);
  else if (to !== location.pathname + location.search + location.hash) history.pushState(null, '', to);
  tell();
}
const subscribe = (f: () => void): (() => void) => {
  listeners.add(f);
  return () => listeners.delete(f);
};
const here = (): string => location.pathname + location.search;

/** The current route; follows redirects by replacing the address. */
export function useRoute(): Route {
  const at = useSyncExternalStore(subscribe, here);
  const route = useMemo(() => parseRoute(at.split('?')[0] ?? '/'), [at]);
  const to = route.page === 'redirect' ? route.to : null;
  useEffect(() => {
    if (to) navigate(to + location.search + location.hash, { replace: true });
  }, [to]);
  return route;
}

/** One search parameter as state: it lives in the address, typing replaces, nothing is lost on reload. */
export function useParam(name: string, fallback: string): [string, (v: string) => void] {
  const at = useSyncExternalStore(subscribe, here);
  const value = useMemo(() => new URLSearchParams(at.split('?')[1] ?? '').get(name) ?? fallback, [at, name, fallback]);
  const set = (v: string): void => {
    const q = new URLSearchParams(location.search);
    if (v === fallback) q.delete(name);
    else q.set(name, v);
    const s = q.toString();
    navigate(location.pathname + (s ? `?${s}` : '') + location.hash, { replace: true });
  };
  return [value, set];
}

/** A link inside the page; new-tab clicks stay the browser's. */
export function Link({ to, onClick, ...rest }: { to: string } & Omit<AnchorHTMLAttributes<HTMLAnchorElement>, 'href'>) {
  const go = (e: MouseEvent<HTMLAnchorElement>): void => {
    onClick?.(e);
    if (e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
    e.preventDefault();
    navigate(to);
  };
  return <a href={to} onClick={go} {...rest} />;
}

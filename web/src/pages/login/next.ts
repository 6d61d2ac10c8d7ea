// Where to go after login: only paths of this page, never another site.

export function nextPath(search: string): string {
  const next = new URLSearchParams(search).get('next') ?? '/';
  return /^\/(?![/\\])/.test(next) && !next.startsWith('/login') ? next : '/';
}

// Links out of user data. Only http and https survive, and addresses of our own file server become same-origin paths.

let told: URL | null = null;
/** The file server's address as the server tells it (server.info); none, as of an older server: it is guessed. */
export function tellFilesUrl(address: string | undefined): void {
  try {
    told = address ? new URL(address) : null;
  } catch {
    told = null;
  }
}

/** A safe href for a URL a task reported, or null when it must be shown as text only. */
export function safeHref(raw: string | null | undefined, origin: string = location.origin, files: URL | null = told): string | null {
  if (!raw) return null;
  const text = raw.trim();
  if (/[\u0000-\u001f\u007f]/.test(text)) return null;
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return null;
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return null;
  const path = ownFilePath(url, new URL(origin), files);
  if (path !== null) return path;
  url.username = '';
  url.password = '';
  return url.href;
}

const loopback = (h: string): boolean => h === 'localhost' || h === '[::1]' || /^127\./.test(h);
const sameHost = (a: URL, b: URL): boolean => a.hostname === b.hostname || (loopback(a.hostname) && loopback(b.hostname));
const portOf = (u: URL): number => Number(u.port || (u.protocol === 'https:' ? 443 : 80));

/** The /files/ path when the URL names a file of this server, null for foreign ones; each part stays encoded as it is. */
function ownFilePath(url: URL, here: URL, files: URL | null): string | null {
  const prefix = files?.pathname.replace(/\/+$/, '') ?? '';
  const mine = sameHost(url, here);
  if (files && (mine || sameHost(url, files)) && portOf(url) === portOf(files) && url.pathname.startsWith(`${prefix}/`))
    return `/files${url.pathname.slice(prefix.length)}${url.search}`;
  if (!mine) return null;
  // A server that only knows itself as "localhost" does not know under which port others reach it: then as without its word.
  const known = files !== null && (!loopback(files.hostname) || loopback(here.hostname));
  if (url.pathname.startsWith('/files/') && (!known || portOf(url) === portOf(here))) return url.pathname + url.search;
  return !known && (portOf(url) === 8081 || portOf(url) === portOf(here) + 2) ? `/files${url.pathname}${url.search}` : null;
}

/** What a link to a repository may point at: http(s) as it is, ssh forms turned into https; credentials are dropped. */
export function repositoryHref(repo: string | null | undefined): string | null {
  if (!repo) return null;
  const ssh = /^(?:ssh:\/\/)?(?:[\w.-]+@)([\w.-]+)[:/](?:\d+\/)?(.+?)(?:\.git)?$/.exec(repo.trim());
  if (ssh?.[1] && ssh[2] && !repo.includes('://', 6) && !/^https?:/.test(repo)) return `https://${ssh[1]}/${ssh[2]}`;
  // A repository is never a file of ours: an origin that matches no host keeps it as it is.
  const href = safeHref(repo, 'https://repository.invalid', null);
  return href?.startsWith('http') ? href.replace(/\.git$/, '') : null;
}

/** The last part of an address, decoded where it can be. */
export function fileName(uri: string): string {
  const last =
    uri
      .replace(/[?#].*$/, '')
      .split('/')
      .pop() || uri;
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}

/** Joins path parts, each encoded once. */
export const path = (...parts: string[]): string => `/${parts.map((p) => (p === '*' ? '*' : encodeURIComponent(p))).join('/')}`;

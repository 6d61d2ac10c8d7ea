// Links out of user data. Only http and https survive, and addresses of our own file server become same-origin paths.

/** A safe href for a URL a task reported, or null when it must be shown as text only. */
export function safeHref(raw: string | null | undefined, origin: string = location.origin): string | null {
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
  const path = ownFilePath(url, new URL(origin));
  if (path !== null) return path;
  url.username = '';
  url.password = '';
  return url.href;
}

/** The /files/ path when the URL names this server's file front (port 8081 or N+2, or /files/ of any port); null for foreign hosts. */
function ownFilePath(url: URL, here: URL): string | null {
  const loopback = (h: string): boolean => h === 'localhost' || h === '[::1]' || /^127\./.test(h);
  const sameHost = url.hostname === here.hostname || (loopback(url.hostname) && loopback(here.hostname));
  if (!sameHost) return null;
  if (url.pathname.startsWith('/files/')) return url.pathname + url.search;
  const herePort = Number(here.port || (here.protocol === 'https:' ? 443 : 80));
  const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80));
  if (port === 8081 || port === herePort + 2) return `/files${url.pathname}${url.search}`;
  return null;
}

/** What a link to a repository may point at: http(s) as it is, ssh forms turned into https; credentials are dropped. */
export function repositoryHref(repo: string | null | undefined): string | null {
  if (!repo) return null;
  const ssh = /^(?:ssh:\/\/)?(?:[\w.-]+@)([\w.-]+)[:/](?:\d+\/)?(.+?)(?:\.git)?$/.exec(repo.trim());
  if (ssh?.[1] && ssh[2] && !repo.includes('://', 6) && !/^https?:/.test(repo)) return `https://${ssh[1]}/${ssh[2]}`;
  // A repository is never a file of ours: an origin that matches no host keeps it as it is.
  const href = safeHref(repo, 'https://repository.invalid');
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

// The query box of the task table: `status:failed tag:a,b !tag:old type:training user:me archived:yes words` to API filters and chips.

export interface Token {
  key: string;
  values: string[];
  not: boolean;
  raw: string;
}
export interface TaskQuery {
  tokens: Token[];
  words: string;
}

const KEYS = ['status', 'tag', 'type', 'user', 'archived', 'project', 'id'];
/** Our words for a status, and the API's. */
export const STATUS_WORDS: Record<string, string[]> = {
  draft: ['created'],
  queued: ['queued'],
  running: ['in_progress'],
  completed: ['completed', 'closed'],
  failed: ['failed'],
  aborted: ['stopped'],
  published: ['published', 'publishing'],
};

export function parseQuery(text: string): TaskQuery {
  const tokens: Token[] = [];
  const words: string[] = [];
  for (const m of text.matchAll(/(!)?(\w+):(?:"([^"]*)"|(\S+))|(\S+)/g)) {
    const key = m[2]?.toLowerCase();
    if (key && KEYS.includes(key))
      tokens.push({ key, values: (m[3] ?? m[4] ?? '').split(',').filter(Boolean), not: m[1] === '!', raw: m[0] });
    else words.push(m[0]);
  }
  return { tokens, words: words.join(' ') };
}

/** A pattern that means the text itself. */
export const literal = (s: string): string => s.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** The filter part of tasks.get_all_ex. Unknown status words become an impossible filter, so that the table says "no task matches". */
export function queryFilter(q: TaskQuery, me: string | null): Record<string, unknown> {
  const out: Record<string, unknown> = { system_tags: ['-archived'] };
  const tags: string[] = [];
  for (const t of q.tokens) {
    if (t.key === 'status') {
      const list = t.values.flatMap((v) => STATUS_WORDS[v.toLowerCase()] ?? [v]);
      const all = Object.values(STATUS_WORDS).flat();
      out['status'] = t.not ? all.filter((s) => !list.includes(s)) : list;
    } else if (t.key === 'tag') tags.push(...t.values.map((v) => (t.not ? `-${v}` : v)));
    else if (t.key === 'type') out['type'] = t.values;
    else if (t.key === 'id') out['id'] = t.values;
    else if (t.key === 'user' && me && t.values.includes('me')) out['user'] = [me];
    else if (t.key === 'archived' && t.values.some((v) => v === 'yes' || v === 'true')) out['system_tags'] = ['archived'];
  }
  if (tags.length) out['tags'] = tags;
  if (q.words) out['_any_'] = { pattern: literal(q.words), fields: ['name', 'id', 'comment'] };
  return out;
}

export const removeToken = (text: string, token: Token): string => ` ${text} `.replace(` ${token.raw} `, ' ').replace(/\s+/g, ' ').trim();

/** Adds, replaces or removes `key:value` in the text, as the filter menu does. */
export function setToken(text: string, key: string, values: string[]): string {
  const q = parseQuery(text);
  let rest = text;
  for (const t of q.tokens) if (t.key === key && !t.not) rest = removeToken(rest, t);
  return [rest, values.length ? `${key}:${values.some((v) => v.includes(' ')) ? `"${values.join(',')}"` : values.join(',')}` : '']
    .filter(Boolean)
    .join(' ');
}

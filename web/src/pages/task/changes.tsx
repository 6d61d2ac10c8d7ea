// What is different from the task this one was cloned from; without a parent, the parameters themselves.
import { IconCode } from '@tabler/icons-react';
import { useMemo } from 'react';
import type { Task } from '../../api/types';
import { paramsOf } from '../../lib/task';
import { Link, taskPath } from '../../router';

export interface Change {
  key: string;
  kind: string;
  before: string;
  after: string;
}
const MAX = 8;

/** What the task asks for: the list an agent installed from it names every package there is and would bury a change. */
function packages(t: Task): Map<string, string> {
  const out = new Map<string, string>();
  const pip = t.script?.requirements?.['org_pip'] ?? t.script?.requirements?.['pip'];
  const lines = Array.isArray(pip) ? pip.map(String) : typeof pip === 'string' ? pip.split('\n') : [];
  for (const l of lines) {
    const m = /^\s*([\w.-]+)\s*(?:==|~=|>=)\s*([^\s;#]+)/.exec(l);
    if (m?.[1] && m[2]) out.set(m[1].toLowerCase(), m[2]);
  }
  return out;
}
const differing = (kind: string, a: Map<string, string>, b: Map<string, string>): Change[] =>
  [...new Set([...a.keys(), ...b.keys()])]
    .sort()
    .filter((k) => a.get(k) !== b.get(k))
    .map((key) => ({ key, kind, before: a.get(key) ?? '–', after: b.get(key) ?? '–' }));

/** Parameters, packages, commit and local changes that differ between two tasks. */
export function changesBetween(a: Task, b: Task): Change[] {
  const out = differing('', paramsOf(a), paramsOf(b));
  if (packages(a).size && packages(b).size) out.push(...differing('package', packages(a), packages(b)));
  const commit = (t: Task): string => (t.script?.version_num ?? '').slice(0, 7);
  if (commit(a) !== commit(b))
    out.push({ key: b.script?.entry_point || 'commit', kind: 'code', before: commit(a) || '–', after: commit(b) || '–' });
  if ((a.script?.diff ?? '') !== (b.script?.diff ?? '')) {
    const n = (t: Task, c: string): number =>
      (t.script?.diff ?? '').split('\n').filter((l) => l.startsWith(c) && !l.startsWith(c.repeat(3))).length;
    out.push({
      key: 'uncommitted changes',
      kind: 'code',
      before: `+${n(a, '+')} \u2212${n(a, '-')}`,
      after: `+${n(b, '+')} \u2212${n(b, '-')} lines`,
    });
  }
  if ((a.container?.image ?? '') !== (b.container?.image ?? ''))
    out.push({ key: 'container', kind: 'image', before: a.container?.image || '–', after: b.container?.image || '–' });
  return out;
}

export function ChangeCard({ t, parent, cls }: { t: Task; parent: Task | null; cls: string }) {
  const changes = useMemo(() => (parent ? changesBetween(parent, t) : []), [parent, t]);
  const params = useMemo(() => [...paramsOf(t)], [t]);
  const here = t.project?.id ?? '*';
  if (!parent) {
    if (params.length === 0) return null;
    return (
      <section className={`card ${cls}`}>
        <div className="ch">
          <h2>Parameters</h2>
          <span className="n">{params.length}</span>
          <span className="sp" />
          <Link className="full" to={taskPath(here, t.id, 'config')}>
            All parameters
          </Link>
        </div>
        <table className="kvt">
          <tbody>
            {params.slice(0, MAX).map(([k, v]) => (
              <tr key={k}>
                <th scope="row">
                  <span className="mono">{k}</span>
                </th>
                <td className="mono one">{v || '–'}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    );
  }
  return (
    <section className={`card ${cls}`}>
      <div className="ch">
        <h2>Changed against parent</h2>
        <Link className="hide-s cut" to={taskPath(parent.project?.id ?? here, parent.id)}>
          {parent.name}
        </Link>
        <span className="sp" />
        {changes.length > MAX && <span className="mut">{changes.length - MAX} more</span>}
      </div>
      {changes.length === 0 ? (
        <p className="none">Nothing: same parameters, packages and code.</p>
      ) : (
        <table className="kvt">
          <tbody>
            {changes.slice(0, MAX).map((c) => (
              <tr key={c.kind + c.key}>
                <th scope="row">
                  {c.kind === 'code' && <IconCode size={14} stroke={1.6} />}
                  <span className="mono">{c.key}</span>
                  {c.kind && c.kind !== 'code' && <em>{c.kind}</em>}
                </th>
                <td className="old mono" title={c.before}>
                  {c.before}
                </td>
                <td className="arr" aria-label="became">
                  →
                </td>
                <td className="new mono" title={c.after}>
                  {c.after}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

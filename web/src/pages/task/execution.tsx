// Execution: which code ran, with which packages, in which container, and what was not committed.
import type { ReactNode } from 'react';
import type { Task } from '../../api/types';
import { Copyable } from '../../components/bits';
import { Empty } from '../../components/states';
import { repositoryHref } from '../../lib/url';
import { Diff } from './diff';
import './config.css';

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <tr>
      <th scope="row">{name}</th>
      <td>{children}</td>
    </tr>
  );
}
const text = (v: unknown): string => (Array.isArray(v) ? v.map(String).join('\n') : typeof v === 'string' ? v : '');

/** "pip" is what was asked for until an agent has written what it installed; then the first list is kept as "org_pip". */
export function packagesTitle(key: string, ran: boolean): string {
  if (key === 'org_pip') return 'Packages asked for';
  if (key === 'pip') return ran ? 'Packages installed' : 'Packages';
  return `Packages (${key.replace(/_/g, ' ')})`;
}

export default function Execution({ task: t }: { task: Task }) {
  const s = t.script ?? {};
  const href = repositoryHref(s.repository);
  const reqs = Object.entries(s.requirements ?? {})
    .map(([k, v]) => [k, text(v).trim()] as const)
    .filter(([, v]) => v !== '');
  const image = t.container?.image || t.execution?.docker_cmd || '';
  const none = !s.repository && !s.entry_point && !s.diff && reqs.length === 0 && !image;
  if (none)
    return (
      <div className="body">
        <Empty title="No code was recorded">The task was made without a script, or the SDK ran with code detection switched off.</Empty>
      </div>
    );
  return (
    <div className="body grid12">
      <section className="card">
        <div className="ch">
          <h2>Source</h2>
        </div>
        <table className="facts">
          <tbody>
            <Fact name="Repository">
              {s.repository ? (
                href ? (
                  <a className="link" href={href} target="_blank" rel="noopener noreferrer">
                    {s.repository}
                  </a>
                ) : (
                  s.repository
                )
              ) : (
                <span className="nil">none, the script itself is stored</span>
              )}
            </Fact>
            {s.version_num && (
              <Fact name="Commit">
                <Copyable text={s.version_num} shown={s.version_num.slice(0, 12)} />
              </Fact>
            )}
            {s.branch && (
              <Fact name="Branch">
                <span className="mono">{s.branch}</span>
              </Fact>
            )}
            {s.tag && (
              <Fact name="Tag">
                <span className="mono">{s.tag}</span>
              </Fact>
            )}
            <Fact name="Script">
              <span className="mono">{s.entry_point || '–'}</span>
            </Fact>
            <Fact name="Working folder">
              <span className="mono">{s.working_dir || '.'}</span>
            </Fact>
            {s.binary && (
              <Fact name="Program">
                <span className="mono">{s.binary}</span>
              </Fact>
            )}
            {t.output?.destination && (
              <Fact name="Output goes to">
                <span className="mono">{t.output.destination}</span>
              </Fact>
            )}
          </tbody>
        </table>
      </section>
      {image && (
        <section className="card">
          <div className="ch">
            <h2>Container</h2>
          </div>
          <table className="facts">
            <tbody>
              <Fact name="Image">
                <span className="mono">{image}</span>
              </Fact>
              {t.container?.arguments && (
                <Fact name="Arguments">
                  <span className="mono">{t.container.arguments}</span>
                </Fact>
              )}
              {t.container?.setup_shell_script && (
                <Fact name="Set-up script">
                  <pre className="code">{t.container.setup_shell_script}</pre>
                </Fact>
              )}
            </tbody>
          </table>
        </section>
      )}
      <section className="card">
        <div className="ch">
          <h2>Uncommitted changes</h2>
        </div>
        {s.diff ? <Diff text={s.diff} /> : <p className="none">None: the run used the commit as it is.</p>}
      </section>
      {reqs.map(([k, v]) => (
        <section key={k} className="card">
          <div className="ch">
            <h2>{packagesTitle(k, reqs.some(([other]) => other.startsWith('org_')))}</h2>
            <span className="n">{v.split('\n').filter((l) => l.trim() && !l.startsWith('#')).length}</span>
          </div>
          <pre className="code" tabIndex={0}>
            {v}
          </pre>
        </section>
      ))}
    </div>
  );
}

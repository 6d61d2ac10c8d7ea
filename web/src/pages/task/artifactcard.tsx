// The newest artifacts and models on the summary, with a download each where the file is reachable.
import { IconBox, IconDownload, IconFileText, IconPhoto, IconTable } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { useModels } from '../../api/models';
import type { Model, Task } from '../../api/types';
import { Ago } from '../../components/bits';
import { artifactItems, type Item } from '../../lib/artifacts';
import { formatBytes } from '../../lib/format';
import { Link, taskPath } from '../../router';

export function kindIcon(i: Item): ReactNode {
  const p = { size: 16, stroke: 1.6 };
  if (i.modelId) return <IconBox {...p} />;
  if (/image|png|jpe?g/i.test(i.kind)) return <IconPhoto {...p} />;
  if (/pandas|csv|table|numpy/i.test(i.kind)) return <IconTable {...p} />;
  return <IconFileText {...p} />;
}
export function DownloadLink({ href, name, title }: { href: string; name: string; title: string }) {
  const own = href.startsWith('/');
  return (
    <a
      className="dlb"
      href={href}
      {...(own ? { download: '' } : { target: '_blank' })}
      rel="noopener noreferrer"
      aria-label={`Download ${name}`}
      title={title}
    >
      <IconDownload size={15} stroke={1.6} />
    </a>
  );
}
export const Download = ({ item: i }: { item: Item }) => i.href && <DownloadLink href={i.href} name={i.key} title={i.uri} />;
const NONE = new Map<string, Model>();

export function ArtifactCard({ t }: { t: Task }) {
  const models = useModels(t);
  const list = artifactItems(t, models.data ?? NONE);
  const to = taskPath(t.project?.id ?? '*', t.id, 'artifacts');
  return (
    <section className="card half">
      <div className="ch">
        <h2>Artifacts</h2>
        <span className="n">{list.length}</span>
        <span className="sp" />
        <Link className="full" to={to}>
          All artifacts
        </Link>
      </div>
      <table className="att">
        <tbody>
          {list.slice(0, 8).map((i) => (
            <tr key={i.group + i.key}>
              <td className="ic">{kindIcon(i)}</td>
              <th scope="row">
                <Link className="aname" to={`${to}?open=${encodeURIComponent(i.key)}`} title={i.key}>
                  {i.key}
                </Link>
              </th>
              <td className="mut kind">{i.kind}</td>
              <td className="num">{formatBytes(i.size)}</td>
              <td className="mut num ag">
                <Ago t={i.time} />
              </td>
              <td className="dl">
                <Download item={i} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

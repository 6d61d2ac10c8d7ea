// Artifacts and models: what came out and what went in, with size, digest, preview and a download where the file can be reached.
import { useEffect, useRef, useState } from 'react';
import { useModels, useVersions } from '../../api/models';
import type { Model, Task } from '../../api/types';
import { Ago, Copyable } from '../../components/bits';
import { Empty, Failed } from '../../components/states';
import { artifactItems, type Item } from '../../lib/artifacts';
import { formatBytes, parseTime } from '../../lib/format';
import { fileName, safeHref } from '../../lib/url';
import { Download, DownloadLink, kindIcon } from './artifactcard';
import './summary.css';
import './artifacts.css';

const GROUPS: Array<[Item['group'], string]> = [
  ['output model', 'Output models'],
  ['input model', 'Input models'],
  ['artifact', 'Artifacts'],
];
const NONE = new Map<string, Model>();

/** Weights saved under other names before: still there, and each can be had. */
function Versions({ model }: { model: string }) {
  const found = useVersions(model);
  if (found.error) return <Failed what="Earlier files could not be loaded" error={found.error} retry={() => void found.refetch()} />;
  if (!found.data?.length) return null;
  return (
    <table className="att avers">
      <caption>Earlier files</caption>
      <tbody>
        {found.data.map((v) => {
          const href = safeHref(v.uri);
          return (
            <tr key={v.uri}>
              <th scope="row" className="mono" title={v.uri}>
                {fileName(v.uri)}
              </th>
              <td className="num">{formatBytes(v.size)}</td>
              <td className="mut num ag">
                <Ago t={parseTime(v.replaced)} />
              </td>
              <td className="dl">{href && <DownloadLink href={href} name={fileName(v.uri)} title={v.uri} />}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function Details({ item: i }: { item: Item }) {
  const image = i.href && /\.(png|jpe?g|gif|webp)(\?|$)/i.test(i.href);
  return (
    <div className="adet">
      <table className="facts">
        <tbody>
          {i.uri && (
            <tr>
              <th scope="row">Address</th>
              <td className="mono">
                {i.uri}
                {!i.href && <small className="mut"> · no link: this kind of address opens only in the SDK</small>}
              </td>
            </tr>
          )}
          {i.hash && (
            <tr>
              <th scope="row">SHA-256</th>
              <td>
                <Copyable text={i.hash} />
              </td>
            </tr>
          )}
          {i.modelId && (
            <tr>
              <th scope="row">Model id</th>
              <td>
                <Copyable text={i.modelId} />
              </td>
            </tr>
          )}
        </tbody>
      </table>
      {i.modelId && <Versions model={i.modelId} />}
      {image && <img src={i.href ?? ''} alt={i.key} loading="lazy" referrerPolicy="no-referrer" />}
      {i.preview && (
        <pre className="code" tabIndex={0}>
          {i.preview}
        </pre>
      )}
    </div>
  );
}
function Row({ item: i, open, flip }: { item: Item; open: boolean; flip: () => void }) {
  const ref = useRef<HTMLTableRowElement>(null);
  useEffect(() => {
    if (open) ref.current?.scrollIntoView({ block: 'nearest' });
  }, [open]);
  return (
    <>
      <tr ref={ref}>
        <td className="ic">{kindIcon(i)}</td>
        <th scope="row">
          <button type="button" aria-expanded={open} onClick={flip}>
            {i.key}
          </button>
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
      {open && (
        <tr className="adrow">
          <td colSpan={6}>
            <Details item={i} />
          </td>
        </tr>
      )}
    </>
  );
}

export default function Artifacts({ task: t }: { task: Task }) {
  const models = useModels(t);
  const [open, setOpen] = useState<string | null>(() => new URLSearchParams(location.search).get('open'));
  const items = artifactItems(t, models.data ?? NONE);
  if (items.length === 0)
    return (
      <div className="body">
        <Empty title="No artifacts and no models">
          Files appear when the script calls <code>task.upload_artifact(…)</code> or saves a model.
        </Empty>
      </div>
    );
  return (
    <div className="body grid12">
      {models.error && !models.data && (
        <Failed what="The models could not be loaded" error={models.error} retry={() => void models.refetch()} />
      )}
      {GROUPS.map(([g, title]) => {
        const list = items.filter((i) => i.group === g);
        return (
          list.length > 0 && (
            <section key={g} className="card">
              <div className="ch">
                <h2>{title}</h2>
                <span className="n">{list.length}</span>
              </div>
              <table className="att">
                <tbody>
                  {list.map((i) => (
                    <Row key={i.key} item={i} open={open === i.key} flip={() => setOpen(open === i.key ? null : i.key)} />
                  ))}
                </tbody>
              </table>
            </section>
          )
        );
      })}
    </div>
  );
}

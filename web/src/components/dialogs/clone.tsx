// Clone, edit and enqueue in one dialog: name, parameter overrides with their types kept, and optionally a queue.
import { Button, Checkbox, Modal, TextInput } from '@mantine/core';
import { useMemo, useState } from 'react';
import { clone, enqueue, type CloneWish } from '../../api/actions';
import { useTask } from '../../api/queries';
import type { Task } from '../../api/types';
import { badValue, typeToStore } from '../../lib/hyper';
import { Link, navigate, taskPath } from '../../router';
import { LoadingRows } from '../states';
import { toast, toastError } from '../toast';
import { QueueSelect, useQueuePick } from './enqueue';

type Edits = Record<string, string>;
const key = (s: string, n: string): string => `${s}\u0000${n}`;

/** All parameters of the clone, with the edited values in; null when nothing was edited (the server then copies). */
function overrides(t: Task, edits: Edits): CloneWish['params'] {
  if (Object.keys(edits).length === 0) return null;
  const out: NonNullable<CloneWish['params']> = {};
  for (const [s, ps] of Object.entries(t.hyperparams ?? {})) {
    const section = (out[s] = {} as NonNullable<CloneWish['params']>[string]);
    for (const [n, p] of Object.entries(ps)) {
      const edited = edits[key(s, n)],
        type = edited === undefined ? p.type : typeToStore(p, edited);
      section[n] = {
        section: s,
        name: n,
        value: edited ?? p.value ?? '',
        ...(type ? { type } : {}),
        ...(p.description ? { description: p.description } : {}),
      };
    }
  }
  return out;
}

function Params({ t, edits, set }: { t: Task; edits: Edits; set: (e: Edits) => void }) {
  const [find, setFind] = useState('');
  const rows = useMemo(
    () =>
      Object.entries(t.hyperparams ?? {})
        .filter(([s]) => s !== 'properties')
        .flatMap(([s, ps]) => Object.entries(ps).map(([n, p]) => ({ s, n, p }))),
    [t.hyperparams],
  );
  if (rows.length === 0) return <p className="mut small">This task has no parameters to change.</p>;
  const list = rows.filter((r) => `${r.s}/${r.n}`.toLowerCase().includes(find.toLowerCase()));
  const put = (k: string, v: string, old: string): void => {
    const next = { ...edits };
    if (v === old) delete next[k];
    else next[k] = v;
    set(next);
  };
  return (
    <div className="cparams">
      <div className="cph">
        <h3>Parameters</h3>
        <span className="mut small">{Object.keys(edits).length ? `${Object.keys(edits).length} changed` : 'as in the original'}</span>
        <span className="sp" />
        {rows.length > 8 && (
          <input className="native" value={find} onChange={(e) => setFind(e.target.value)} placeholder="Find" aria-label="Find parameter" />
        )}
      </div>
      <div className="cpl">
        {list.map(({ s, n, p }) => {
          const k = key(s, n),
            old = p.value ?? '',
            v = edits[k] ?? old,
            bad = badValue(p.type, v);
          return (
            <label key={k} className={k in edits ? 'ed' : ''}>
              <span className="mono cut" title={`${s}/${n}`}>
                <i>{s}/</i>
                {n}
                {p.type && <em>{p.type}</em>}
              </span>
              <input
                className="native mono"
                value={v}
                onChange={(e) => put(k, e.target.value, old)}
                aria-invalid={!!bad}
                title={bad ?? undefined}
              />
              {bad && <small className="err">{bad}</small>}
            </label>
          );
        })}
      </div>
    </div>
  );
}

export function CloneDialog({ task, close }: { task: Task; close: () => void }) {
  // Lists hold a part of a task only; the dialog needs all of its parameters.
  const full = useTask(task.id);
  const [name, setName] = useState(`Clone of ${task.name ?? 'task'}`);
  const [edits, setEdits] = useState<Edits>({});
  const [run, setRun] = useState(false);
  const [busy, setBusy] = useState(false);
  const { list, value, setPick } = useQueuePick();
  const t = full.data;
  const invalid = t
    ? Object.entries(edits).some(([k, v]) => {
        const [s, n] = k.split('\u0000');
        return badValue(t.hyperparams?.[s ?? '']?.[n ?? '']?.type, v) !== null;
      })
    : true;
  const go = async (): Promise<void> => {
    if (!t) return;
    setBusy(true);
    try {
      const id = await clone(t, { name: name.trim(), comment: t.comment ?? '', params: overrides(t, edits) });
      if (run && value) await enqueue({ id }, value).catch((e: unknown) => toastError('Cloned, but not enqueued', e));
      const to = taskPath(t.project?.id ?? '*', id);
      toast(
        <>
          Cloned as <Link to={to}>{name.trim()}</Link>
        </>,
      );
      close();
      navigate(to);
    } catch (e) {
      toastError('Not cloned', e);
      setBusy(false);
    }
  };
  return (
    <Modal
      opened
      onClose={close}
      lockScroll={false}
      title={`Clone ${task.name ?? ''}`}
      size={640}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <TextInput
        label="Name"
        data-autofocus
        value={name}
        onChange={(e) => setName(e.currentTarget.value)}
        error={name.trim().length < 3 ? 'At least 3 characters' : null}
      />
      {t ? <Params t={t} edits={edits} set={setEdits} /> : <LoadingRows n={3} />}
      <div className="crun">
        <Checkbox label="Enqueue at once" checked={run} onChange={(e) => setRun(e.currentTarget.checked)} disabled={list.length === 0} />
        {run && <QueueSelect value={value} onChange={setPick} queues={list} />}
      </div>
      <div className="dfoot">
        <Button onClick={close}>Cancel</Button>
        <Button
          variant="filled"
          disabled={!t || busy || invalid || name.trim().length < 3}
          onClick={() => {
            void go();
          }}
        >
          {run ? 'Clone and enqueue' : 'Clone'}
        </Button>
      </div>
    </Modal>
  );
}

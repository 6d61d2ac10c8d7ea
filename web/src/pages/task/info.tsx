// Info: ids, people, times, machine facts, and the description, which can be edited.
import { Button } from '@mantine/core';
import { useState, type ReactNode } from 'react';
import { refresh } from '../../api/actions';
import { call } from '../../api/call';
import { useTask } from '../../api/queries';
import type { Task } from '../../api/types';
import { Copyable, statusLabel } from '../../components/bits';
import { toast, toastError } from '../../components/toast';
import { formatDate, formatDuration, inZone, parseTime } from '../../lib/format';
import { durationOf, parentId, statusOf } from '../../lib/task';
import { Link, projectPath, taskPath } from '../../router';
import './summary.css';

const row = (name: string, value: ReactNode): ReactNode =>
  value === null || value === '' || value === undefined ? null : (
    <tr key={name}>
      <th scope="row">{name}</th>
      <td>{value}</td>
    </tr>
  );
const when = (s: string | undefined): ReactNode => (s ? <span className="num-s">{formatDate(parseTime(s))}</span> : null);

function Description({ t }: { t: Task }) {
  const [draft, setDraft] = useState<string | null>(null);
  const fixed = statusOf(t) === 'published';
  const save = async (): Promise<void> => {
    try {
      await call('tasks.edit', { task: t.id, comment: draft ?? '', force: true });
      await refresh(t.id);
      setDraft(null);
      toast('Description saved');
    } catch (e) {
      toastError('The description was not saved', e);
    }
  };
  return (
    <section className="card">
      <div className="ch">
        <h2>Description</h2>
        <span className="sp" />
        {draft === null ? (
          !fixed && <Button onClick={() => setDraft(t.comment ?? '')}>Edit</Button>
        ) : (
          <>
            <Button onClick={() => setDraft(null)}>Cancel</Button>
            <Button
              variant="filled"
              onClick={() => {
                void save();
              }}
            >
              Save
            </Button>
          </>
        )}
      </div>
      {draft !== null ? (
        <div className="comment">
          <textarea
            className="native"
            rows={6}
            value={draft}
            onChange={(e) => setDraft(e.target.value)}
            aria-label="Description"
            autoFocus
          />
        </div>
      ) : t.comment ? (
        <p className="comment">{inZone(t.comment)}</p>
      ) : (
        <p className="none">None yet.</p>
      )}
    </section>
  );
}

export default function Info({ task: t }: { task: Task }) {
  const pid = parentId(t);
  const parent = useTask(pid ?? t.id);
  const runtime = Object.entries(t.runtime ?? {}).filter(
    ([k, v]) => !k.startsWith('_') && (typeof v === 'string' || typeof v === 'number'),
  );
  return (
    <div className="body grid12">
      <Description t={t} />
      <section className="card half">
        <div className="ch">
          <h2>Task</h2>
        </div>
        <table className="facts">
          <tbody>
            {row('Id', <Copyable text={t.id} />)}
            {row('Type', t.type)}
            {row('Status', statusLabel(statusOf(t)))}
            {row('Reason', [t.status_reason, t.status_message].filter(Boolean).join(' · '))}
            {row(
              'Project',
              t.project ? (
                <Link className="link" to={projectPath(t.project.id)}>
                  {t.project.name}
                </Link>
              ) : null,
            )}
            {row(
              'Parent',
              pid ? (
                <Link className="link" to={taskPath('*', pid)}>
                  {parent.data?.name ?? pid}
                </Link>
              ) : null,
            )}
            {row('User', t.user?.name)}
            {row('Tags', (t.tags ?? []).join(', '))}
            {row('Iterations', t.last_iteration ? t.last_iteration.toLocaleString('en') : null)}
          </tbody>
        </table>
      </section>
      <section className="card half">
        <div className="ch">
          <h2>Times and place</h2>
        </div>
        <table className="facts">
          <tbody>
            {row('Created', when(t.created))}
            {row('Started', when(t.started))}
            {row('Ended', when(t.completed))}
            {row('Published', when(t.published))}
            {row('Last change', when(t.last_change ?? t.last_update))}
            {row('Run time', formatDuration(durationOf(t)))}
            {row('Worker', t.last_worker)}
            {row('Queue', t.execution?.queue?.name)}
          </tbody>
        </table>
      </section>
      {runtime.length > 0 && (
        <section className="card">
          <div className="ch">
            <h2>Machine</h2>
          </div>
          <table className="facts">
            <tbody>{runtime.map(([k, v]) => row(k.replace(/_/g, ' '), <span className="mono">{String(v)}</span>))}</tbody>
          </table>
        </section>
      )}
    </div>
  );
}

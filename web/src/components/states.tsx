// The three states of every panel besides "here it is": nothing yet, not yet, and not possible.
import { Button } from '@mantine/core';
import { IconAlertCircle } from '@tabler/icons-react';
import { useEffect, useState, type ReactNode } from 'react';
import { ApiError } from '../api/call';
import { Link } from '../router';
import { Copyable } from './bits';
import './states.css';

export function Empty({ title, children, action }: { title: string; children?: ReactNode; action?: ReactNode }) {
  return (
    <div className="empty">
      <h2>{title}</h2>
      {children && <p>{children}</p>}
      {action}
    </div>
  );
}

const NEXT: Record<number, string> = {
  0: 'Check that the server runs and that this machine reaches it.',
  403: 'Your role does not allow this. An administrator can change it.',
  404: 'It may have been deleted, or this server does not offer it.',
};

export function Failed({ what, error, retry }: { what: string; error: unknown; retry?: () => void }) {
  const e = error instanceof ApiError ? error : null;
  return (
    <div className="failed" role="alert">
      <IconAlertCircle size={16} stroke={1.8} />
      <div>
        <b>{what}</b>
        <span>
          {error instanceof Error ? error.message : String(error)}
          {e && NEXT[e.code] ? `. ${NEXT[e.code]}` : ''}
        </span>
        <div className="row">
          {retry && <Button onClick={retry}>Retry</Button>}
          {e?.requestId && (
            <span className="mut">
              request <Copyable text={e.requestId} shown={e.requestId.slice(0, 12)} />
            </span>
          )}
        </div>
      </div>
    </div>
  );
}

/** Whether an error says that what was asked for is not there (any more), as against not reachable. */
export const isGone = (e: unknown): boolean => e instanceof ApiError && (e.code === 404 || (e.code === 400 && GONE.has(e.subcode)));
/** "Invalid id" of a task (101) and of a project (401). */
const GONE = new Set([101, 401]);
export function Gone({ what, to, place }: { what: string; to: string; place: string }) {
  return (
    <Empty
      title={`There is no ${what} with this id`}
      action={
        <Link className="link" to={to}>
          {place}
        </Link>
      }
    >
      It has been deleted, or the link is cut short.
    </Empty>
  );
}

/** True 150 ms after mounting: what loads faster than that shows no placeholder. */
function useLate(ms = 150): boolean {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const t = setTimeout(() => setLate(true), ms);
    return () => clearTimeout(t);
  }, [ms]);
  return late;
}
export function LoadingRows({ n = 12 }: { n?: number }) {
  if (!useLate()) return null;
  return (
    <div className="skel-rows" role="status" aria-label="Loading">
      {Array.from({ length: n }, (_, i) => (
        <span key={i}>
          <i className="skel" style={{ width: `${22 + ((i * 7) % 14)}%` }} />
          <i className="skel" style={{ width: 90 }} />
          <i className="sp" />
          <i className="skel" style={{ width: 120 }} />
        </span>
      ))}
    </div>
  );
}
export function LoadingCards({ n = 6 }: { n?: number }) {
  if (!useLate()) return null;
  return (
    <div className="skel-cards" role="status" aria-label="Loading">
      {Array.from({ length: n }, (_, i) => (
        <span key={i} className="skel" />
      ))}
    </div>
  );
}

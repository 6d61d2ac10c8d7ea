// Ctrl/Cmd-K: go anywhere. Pages, projects and tasks by name; a pasted id lands on its task.
import { IconArrowRight, IconFolder, IconSearch } from '@tabler/icons-react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useEffect, useLayoutEffect, useMemo, useRef, useState, useSyncExternalStore, type KeyboardEvent, type ReactNode } from 'react';
import { call } from '../api/call';
import { useProjects } from '../api/queries';
import type { Task } from '../api/types';
import { colorSlot } from '../lib/color';
import { statusOf } from '../lib/task';
import { navigate, projectPath, taskPath } from '../router';
import { Dot, StatusBadge } from './bits';
import './palette.css';

let open = false;
const listeners = new Set<() => void>();
const set = (v: boolean): void => {
  open = v;
  listeners.forEach((f) => f());
};
export const openPalette = (): void => set(true);

interface Hit {
  id: string;
  to: string;
  icon: ReactNode;
  label: string;
  detail?: ReactNode;
}
const PAGES: Hit[] = [
  ['Home', '/'],
  ['Projects', '/projects'],
  ['All tasks', '/projects/*/tasks'],
  ['Queues', '/queues'],
  ['Workers', '/workers'],
].map(([label, to]) => ({ id: to ?? '', to: to ?? '/', label: label ?? '', icon: <IconArrowRight size={15} stroke={1.6} /> }));
const escape = (s: string): string => s.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

function useHits(text: string): Hit[] {
  const projects = useProjects();
  const [slow, setSlow] = useState('');
  useEffect(() => {
    const t = setTimeout(() => setSlow(text.trim()), 150);
    return () => clearTimeout(t);
  }, [text]);
  const tasks = useQuery<Task[]>({
    queryKey: ['palette', slow],
    queryFn: ({ signal }) =>
      call(
        'tasks.get_all_ex',
        {
          ...(slow ? (/^[0-9a-f]{32}$/.test(slow) ? { id: [slow] } : { _any_: { pattern: escape(slow), fields: ['name', 'id'] } }) : {}),
          order_by: ['-last_update'],
          page: 0,
          page_size: 8,
          only_fields: ['name', 'status', 'project.name'],
        },
        { signal },
      ).then((d) => d.tasks),
    placeholderData: keepPreviousData,
  });
  return useMemo(() => {
    const q = text.trim().toLowerCase();
    const pages = PAGES.filter((p) => p.label.toLowerCase().includes(q));
    const ps = (projects.data ?? [])
      .filter((p) => q !== '' && p.name.toLowerCase().includes(q))
      .slice(0, 5)
      .map((p): Hit => ({
        id: p.id,
        to: projectPath(p.id),
        icon: <IconFolder size={15} stroke={1.6} />,
        label: p.name,
        detail: 'project',
      }));
    // The answer may still be the one to fewer letters: what does not match any more must not catch an early Enter.
    const ts = (tasks.data ?? [])
      .filter((t) => !q || t.id.startsWith(q) || t.name?.toLowerCase().includes(q))
      .map((t): Hit => ({
        id: t.id,
        to: taskPath(t.project?.id ?? '*', t.id),
        icon: <Dot c={colorSlot(t.id)} />,
        label: t.name ?? t.id,
        detail: (
          <>
            <span className="mut cut">{t.project?.name}</span>
            <StatusBadge s={statusOf(t)} />
          </>
        ),
      }));
    return [...(q ? [] : pages), ...ps, ...ts, ...(q ? pages : [])];
  }, [text, projects.data, tasks.data]);
}

function Body() {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const hits = useHits(text);
  const cur = Math.min(at, Math.max(0, hits.length - 1));
  const go = (h: Hit | undefined): void => {
    if (h) {
      set(false);
      navigate(h.to);
    }
  };
  const key = (e: KeyboardEvent): void => {
    if (e.key === 'ArrowDown') {
      e.preventDefault();
      setAt((cur + 1) % Math.max(1, hits.length));
    } else if (e.key === 'ArrowUp') {
      e.preventDefault();
      setAt((cur + hits.length - 1) % Math.max(1, hits.length));
    } else if (e.key === 'Enter') {
      e.preventDefault();
      go(hits[cur]);
    }
  };
  return (
    <div className="pal">
      <div className="palq">
        <IconSearch size={16} stroke={1.6} />
        <input
          value={text}
          onChange={(e) => {
            setText(e.target.value);
            setAt(0);
          }}
          onKeyDown={key}
          placeholder="Task, project, page, or a pasted id"
          aria-label="Search or jump to"
          role="combobox"
          aria-expanded
          aria-controls="pal-list"
          aria-activedescendant={hits[cur] ? `pal-${cur}` : undefined}
        />
      </div>
      <ul id="pal-list" role="listbox" aria-label="Places">
        {hits.map((h, i) => (
          <li key={h.id} id={`pal-${i}`} role="option" aria-selected={i === cur} onMouseMove={() => setAt(i)} onClick={() => go(h)}>
            {h.icon}
            <span className="cut">{h.label}</span>
            <span className="sp" />
            {h.detail}
          </li>
        ))}
        {hits.length === 0 && (
          <li className="mut" role="option" aria-selected={false} aria-disabled>
            Nothing has this name.
          </li>
        )}
      </ul>
    </div>
  );
}

/**
 * A native modal dialog: it opens within the key press itself and its box has the focus at once, so that no letter typed
 * right after Ctrl-K is lost, however busy the page is; closing gives the focus back.
 */
export function Palette() {
  const on = useSyncExternalStore(
    (f) => {
      listeners.add(f);
      return () => listeners.delete(f);
    },
    () => open,
  );
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    if (!on) return;
    const d = dialog.current;
    d?.showModal();
    return () => d?.close();
  }, [on]);
  return (
    <dialog
      ref={dialog}
      className="paldlg"
      aria-label="Search or jump to"
      onClose={(e) => {
        if (!e.currentTarget.open) set(false);
      }}
      onClick={(e) => {
        if (e.target === e.currentTarget) set(false);
      }}
    >
      {on && <Body />}
    </dialog>
  );
}

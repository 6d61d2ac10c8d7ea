// The two lines above the table: query box with keys, filter and column menus, chips of what is filtered, counts.
import { Menu, Switch } from '@mantine/core';
import { IconColumns3, IconDownload, IconFilter, IconSearch, IconX } from '@tabler/icons-react';
import { useEffect, useRef, useState, type RefObject } from 'react';
import { I, IconBtn, StatusBadge } from '../../components/bits';
import { parseQuery, removeToken, setToken } from '../../lib/query';
import type { Status } from '../../lib/task';
import { PopMenu } from '../../components/menu';
import type { Columns, Found } from './columns';

/** Typing does not ask the server at every letter: the query follows 250 ms after the last. */
export function QueryBox({
  value,
  onChange,
  box,
}: {
  value: string;
  onChange: (v: string) => void;
  box: RefObject<HTMLInputElement | null>;
}) {
  const [text, setText] = useState(value);
  const sent = useRef(value);
  useEffect(() => {
    if (value !== sent.current) {
      sent.current = value;
      setText(value);
    }
  }, [value]);
  useEffect(() => {
    if (text === sent.current) return;
    const t = setTimeout(() => {
      sent.current = text;
      onChange(text);
    }, 250);
    return () => clearTimeout(t);
  }, [text, onChange]);
  const clear = (): void => {
    setText('');
  };
  return (
    <div className="query" role="search">
      <IconSearch size={15} stroke={1.6} />
      <input
        ref={box}
        className="mono"
        value={text}
        onChange={(e) => setText(e.target.value)}
        spellCheck={false}
        aria-label="Filter tasks"
        placeholder="words, status:failed, tag:a,b, !tag:old, user:me"
        onKeyDown={(e) => {
          if ((e.key === 'Enter' || e.key === 'ArrowDown') && !e.nativeEvent.isComposing) {
            // On to the rows: what was typed counts at once, the keys are theirs from here.
            e.preventDefault();
            if (text !== sent.current) {
              sent.current = text;
              onChange(text);
            }
            e.currentTarget.blur();
            document.querySelector<HTMLElement>('.vrows [role="row"][tabindex="0"]')?.focus();
          } else if (e.key === 'Escape') {
            if (text) clear();
            else e.currentTarget.blur();
          }
        }}
      />
      {text && (
        <button type="button" aria-label="Clear the filter" onClick={clear}>
          <IconX size={14} stroke={1.8} />
        </button>
      )}
      <kbd>/</kbd>
    </div>
  );
}

const STATUSES: Status[] = ['running', 'queued', 'completed', 'failed', 'aborted', 'published', 'draft'];
export function FilterMenu({ value, onChange, tags }: { value: string; onChange: (v: string) => void; tags: string[] }) {
  const q = parseQuery(value);
  const has = (key: string): string[] => q.tokens.find((t) => t.key === key && !t.not)?.values ?? [];
  const flip = (key: string, v: string): void => {
    const old = has(key);
    onChange(setToken(value, key, old.includes(v) ? old.filter((x) => x !== v) : [...old, v]));
  };
  return (
    <PopMenu closeOnItemClick={false} position="bottom-start" width={220}>
      <Menu.Target>
        <button type="button" className="chip add">
          <IconFilter size={14} stroke={1.6} />
          Filter
        </button>
      </Menu.Target>
      <Menu.Dropdown mah={420} className="fmenu">
        <Menu.Label>Status</Menu.Label>
        {STATUSES.map((s) => (
          <Menu.CheckboxItem key={s} checked={has('status').includes(s)} onChange={() => flip('status', s)}>
            <StatusBadge s={s} />
          </Menu.CheckboxItem>
        ))}
        {tags.length > 0 && <Menu.Label>Tag, among those loaded</Menu.Label>}
        {tags.slice(0, 12).map((g) => (
          <Menu.CheckboxItem key={g} checked={has('tag').includes(g)} onChange={() => flip('tag', g)}>
            {g}
          </Menu.CheckboxItem>
        ))}
        <Menu.Divider />
        <Menu.CheckboxItem checked={has('user').includes('me')} onChange={() => flip('user', 'me')}>
          Mine
        </Menu.CheckboxItem>
        <Menu.CheckboxItem checked={has('archived').includes('yes')} onChange={() => flip('archived', 'yes')}>
          Archived
        </Menu.CheckboxItem>
      </Menu.Dropdown>
    </PopMenu>
  );
}
export function Chips({ value, onChange }: { value: string; onChange: (v: string) => void }) {
  const q = parseQuery(value);
  if (q.tokens.length === 0) return null;
  return (
    <>
      {q.tokens.map((t) => (
        <span key={t.raw} className="chip">
          {t.key[0]?.toUpperCase() + t.key.slice(1)} <b>{t.not ? 'is not' : t.values.length > 1 ? 'any of' : 'is'}</b> {t.values.join(', ')}
          <button type="button" aria-label={`Remove ${t.key} filter`} onClick={() => onChange(removeToken(value, t))}>
            <IconX size={12} stroke={2} />
          </button>
        </span>
      ))}
      <button type="button" className="chip lnk" onClick={() => onChange(q.words)}>
        Clear all
      </button>
    </>
  );
}
export function ColumnMenu({ cols, found, set }: { cols: Columns; found: Found; set: (c: Columns | null) => void }) {
  const flip = (kind: keyof Columns, k: string): void =>
    set({ ...cols, [kind]: cols[kind].includes(k) ? cols[kind].filter((x) => x !== k) : [...cols[kind], k] });
  const list = (kind: keyof Columns, keys: string[]) =>
    keys.map((k) => (
      <Menu.CheckboxItem key={k} checked={cols[kind].includes(k)} onChange={() => flip(kind, k)}>
        {k}
      </Menu.CheckboxItem>
    ));
  return (
    <PopMenu closeOnItemClick={false} position="bottom-end" width={280}>
      <Menu.Target>
        <IconBtn label="Columns">
          <IconColumns3 {...I} />
        </IconBtn>
      </Menu.Target>
      <Menu.Dropdown mah={460} className="fmenu">
        <Menu.Label>Metrics</Menu.Label>
        {found.metrics.length ? (
          list(
            'metrics',
            found.metrics.slice(0, 60).map((m) => m.key),
          )
        ) : (
          <Menu.Label>none reported yet</Menu.Label>
        )}
        <Menu.Label>Parameters</Menu.Label>
        {found.params.length ? (
          list(
            'params',
            found.params.slice(0, 100).map((p) => p.key),
          )
        ) : (
          <Menu.Label>none recorded yet</Menu.Label>
        )}
        <Menu.Divider />
        <Menu.Item onClick={() => set(null)}>Choose for me</Menu.Item>
      </Menu.Dropdown>
    </PopMenu>
  );
}
export function TableTools(p: {
  value: string;
  onChange: (v: string) => void;
  box: RefObject<HTMLInputElement | null>;
  cols: Columns;
  found: Found;
  setCols: (c: Columns | null) => void;
  exportCsv: () => void;
}) {
  return (
    <div className="tool">
      <QueryBox value={p.value} onChange={p.onChange} box={p.box} />
      <div className="grp">
        <ColumnMenu cols={p.cols} found={p.found} set={p.setCols} />
        <IconBtn label="Export the shown rows as CSV" onClick={p.exportCsv}>
          <IconDownload {...I} />
        </IconBtn>
      </div>
    </div>
  );
}
/** `resting`: so much is loaded that it is not fetched again by itself. */
export function LiveSwitch({ live, resting, setLive }: { live: boolean; resting: boolean; setLive: (v: boolean) => void }) {
  return (
    <Switch
      className="hide-s"
      label={live && resting ? 'Auto-update rests: long list' : 'Auto-update'}
      title={live && resting ? 'More than 1,000 rows are loaded. It goes on when the list is shorter: filter, or reload.' : undefined}
      checked={live}
      onChange={(e) => setLive(e.currentTarget.checked)}
    />
  );
}

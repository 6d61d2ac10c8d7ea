// Config: parameters by section with types, user properties, configuration objects. A draft can be edited; anything else is read only.
import { Button } from '@mantine/core';
import { IconPlus, IconSearch, IconTrash } from '@tabler/icons-react';
import { useMemo, useRef, useState } from 'react';
import { refresh } from '../../api/actions';
import { call } from '../../api/call';
import type { ConfigItem, Param, Task } from '../../api/types';
import { CodeBox, IconBtn } from '../../components/bits';
import { Empty } from '../../components/states';
import { toast, toastError } from '../../components/toast';
import { badValue, typeToStore } from '../../lib/hyper';
import { useKeys } from '../../lib/keys';
import { statusOf } from '../../lib/task';
import './config.css';

interface Row {
  section: string;
  name: string;
  value: string;
  type?: string | undefined;
  description?: string | undefined;
}
const rowsOf = (section: string, ps: Record<string, Param>): Row[] =>
  Object.entries(ps)
    .map(([name, p]) => ({ section, name, value: p.value ?? '', type: p.type, description: p.description }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));

function Value({ row, edit, save }: { row: Row; edit: boolean; save: (v: string) => Promise<void> }) {
  const [draft, setDraft] = useState<string | null>(null);
  const long = row.value.length > 80 || row.value.includes('\n');
  if (!edit)
    return long ? (
      <pre className="cval mono">{row.value}</pre>
    ) : (
      <span className="mono">{row.value === '' ? <span className="nil">empty</span> : row.value}</span>
    );
  const v = draft ?? row.value,
    bad = badValue(row.type, v);
  const done = (): void => {
    if (draft === null || draft === row.value) {
      setDraft(null);
      return;
    }
    if (bad) return;
    void save(draft).then(() => setDraft(null));
  };
  const common = { value: v, 'aria-label': `Value of ${row.name}`, 'aria-invalid': !!bad, onBlur: done };
  return (
    <div className="cedit">
      {long ? (
        <textarea
          className="native mono"
          rows={Math.min(10, v.split('\n').length + 1)}
          {...common}
          onChange={(e) => setDraft(e.target.value)}
          onKeyDown={(e) => {
            if (e.key === 'Escape') setDraft(null);
          }}
        />
      ) : (
        <input
          className="native mono"
          {...common}
          onChange={(e) => setDraft(e.target.value)}
          onKeyDown={(e) => {
            if (e.key === 'Enter') e.currentTarget.blur();
            if (e.key === 'Escape') setDraft(null);
          }}
        />
      )}
      {bad && (
        <small className="err">
          {bad}, as the script declares {row.type}
        </small>
      )}
    </div>
  );
}
function AddRow({ section, add }: { section: string; add: (name: string, value: string) => Promise<void> }) {
  const [name, setName] = useState('');
  const [value, setValue] = useState('');
  const go = (): void => {
    if (name.trim())
      void add(name.trim(), value).then(() => {
        setName('');
        setValue('');
      });
  };
  return (
    <form
      className="cadd"
      onSubmit={(e) => {
        e.preventDefault();
        go();
      }}
    >
      <input
        className="native mono"
        value={name}
        onChange={(e) => setName(e.target.value)}
        placeholder="new parameter"
        aria-label={`New parameter in ${section}`}
      />
      <input className="native mono" value={value} onChange={(e) => setValue(e.target.value)} placeholder="value" aria-label="Its value" />
      <Button type="submit" leftSection={<IconPlus size={15} stroke={1.6} />} disabled={!name.trim()}>
        Add
      </Button>
    </form>
  );
}
function Section({ t, section, rows, edit }: { t: Task; section: string; rows: Row[]; edit: boolean }) {
  const put = async (r: Row, value: string): Promise<void> => {
    const type = typeToStore(r, value);
    try {
      await call('tasks.edit_hyper_params', {
        task: t.id,
        hyperparams: [
          { section, name: r.name, value, ...(type ? { type } : {}), ...(r.description ? { description: r.description } : {}) },
        ],
        replace_hyperparams: 'none',
      });
      await refresh(t.id);
      toast(`${r.name} saved`);
    } catch (e) {
      toastError(`${r.name} was not saved`, e);
      throw e;
    }
  };
  const drop = async (r: Row): Promise<void> => {
    // Replacing the section by what is left works on every server, also on one without delete_hyper_params.
    try {
      await call('tasks.edit_hyper_params', {
        task: t.id,
        hyperparams: Object.values(t.hyperparams?.[section] ?? {})
          .filter((p) => p.name !== r.name)
          .map((p) => ({ ...p, section })),
        replace_hyperparams: 'section',
      });
      await refresh(t.id);
    } catch (e) {
      toastError(`${r.name} was not removed`, e);
    }
  };
  return (
    <section className="card" id={`s-${section}`}>
      <div className="ch">
        <h2>{section === 'properties' ? 'User properties' : section}</h2>
        <span className="n">{rows.length}</span>
      </div>
      <table className="facts conf">
        <tbody>
          {rows.map((r) => (
            <tr key={r.name}>
              <th scope="row" title={r.description}>
                <span className="mono">{r.name}</span>
                {r.type && <em>{r.type}</em>}
              </th>
              <td>
                <Value row={r} edit={edit} save={(v) => put(r, v)} />
              </td>
              {edit && (
                <td className="cdel">
                  <IconBtn
                    label={`Remove ${r.name}`}
                    size={24}
                    onClick={() => {
                      void drop(r);
                    }}
                  >
                    <IconTrash size={14} stroke={1.6} />
                  </IconBtn>
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
      {edit && <AddRow section={section} add={(name, value) => put({ section, name, value: '' }, value)} />}
    </section>
  );
}
function ConfigObject({ t, name, item, edit }: { t: Task; name: string; item: ConfigItem; edit: boolean }) {
  const [draft, setDraft] = useState<string | null>(null);
  const save = async (): Promise<void> => {
    try {
      await call('tasks.edit_configuration', {
        task: t.id,
        configuration: [{ ...item, name, value: draft ?? '' }],
        replace_configuration: false,
      });
      await refresh(t.id);
      setDraft(null);
      toast(`${name} saved`);
    } catch (e) {
      toastError(`${name} was not saved`, e);
    }
  };
  const text = item.value ?? '';
  return (
    <section className="card">
      <div className="ch">
        <h2>{name}</h2>
        {item.type && <span className="mut">{item.type}</span>}
        {item.description && <span className="mut cut">{item.description}</span>}
        <span className="sp" />
        {edit && draft === null && <Button onClick={() => setDraft(text)}>Edit</Button>}
        {draft !== null && (
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
        <div className="cobj">
          <textarea
            className="native mono"
            rows={Math.min(24, draft.split('\n').length + 2)}
            value={draft}
            onChange={(e) => setDraft(e.target.value)}
            aria-label={`Text of ${name}`}
            spellCheck={false}
            autoFocus
          />
        </div>
      ) : (
        <div className="cobj">
          <CodeBox label={name}>{text}</CodeBox>
        </div>
      )}
    </section>
  );
}

export default function Config({ task: t }: { task: Task }) {
  const [find, setFind] = useState('');
  const box = useRef<HTMLInputElement>(null);
  useKeys(useMemo(() => ({ '/': () => box.current?.focus() }), []));
  const edit = statusOf(t) === 'draft';
  const propsEdit = statusOf(t) !== 'published';
  const sections = Object.entries(t.hyperparams ?? {}).sort(
    ([a], [b]) => Number(a === 'properties') - Number(b === 'properties') || (a < b ? -1 : 1),
  );
  const objects = Object.entries(t.configuration ?? {});
  const words = find.toLowerCase();
  const shown = sections
    .map(([s, ps]) => [s, rowsOf(s, ps).filter((r) => `${s}/${r.name} ${r.value}`.toLowerCase().includes(words))] as const)
    .filter(([, rows]) => rows.length > 0);
  const empty = sections.length === 0 && objects.length === 0;
  return (
    <div className="body grid12">
      {!empty && (
        <div className="ctop">
          <label className="search">
            <IconSearch size={14} stroke={1.6} />
            <input
              ref={box}
              value={find}
              onChange={(e) => setFind(e.target.value)}
              placeholder="Find name or value"
              aria-label="Find parameter"
              onKeyDown={(e) => {
                if (e.key === 'Escape') {
                  setFind('');
                  e.currentTarget.blur();
                }
              }}
            />
            <kbd>/</kbd>
          </label>
          <span className="mut small">
            {edit ? 'Changes are saved as you leave a field.' : 'Read only: clone the task or reset it to change parameters.'}
          </span>
        </div>
      )}
      {shown.map(([s, rows]) => (
        <Section key={s} t={t} section={s} rows={rows} edit={s === 'properties' ? propsEdit : edit} />
      ))}
      {edit && !t.hyperparams?.['General'] && !find && <Section t={t} section="General" rows={[]} edit />}
      {!find && objects.map(([name, item]) => <ConfigObject key={name} t={t} name={name} item={item} edit={edit} />)}
      {!edit && empty && (
        <Empty title="No parameters">
          They appear when the script uses argparse or calls <code>task.connect(…)</code>.
        </Empty>
      )}
      {find && shown.length === 0 && <Empty title="No parameter matches" action={<Button onClick={() => setFind('')}>Clear</Button>} />}
    </div>
  );
}

// One task in the table (32 px, one line) and as a card on a phone.
import { Checkbox } from '@mantine/core';
import { memo, type KeyboardEvent, type MouseEvent } from 'react';
import type { Task } from '../../api/types';
import { Ago, Bar, Dot, Mid, Spark, StatusBadge, Tag } from '../../components/bits';
import { colorSlot } from '../../lib/color';
import { formatDuration, formatNumber, parseTime } from '../../lib/format';
import { durationOf, metricsOf, paramsOf, progressOf, reasonOf, statusOf, type Metric } from '../../lib/task';
import { Link, navigate, projectPath, taskPath } from '../../router';
import { sparkKey, type Sparks } from '../../api/sparks';
import { SPARKED, type Columns } from './columns';

export interface RowView {
  task: Task;
  metrics: Map<string, Metric>;
  params: Map<string, string>;
}
export const viewOf = (task: Task): RowView => ({ task, metrics: new Map(metricsOf(task).map((m) => [m.key, m])), params: paramsOf(task) });

export function StatusCell({ t }: { t: Task }) {
  const s = statusOf(t),
    pct = progressOf(t),
    why = reasonOf(t);
  return (
    <>
      <StatusBadge s={s} pct={pct} />
      {s === 'running' && pct !== null && (
        <>
          <Bar pct={pct} />
          <span className="why num-s">{Math.round(pct)} %</span>
        </>
      )}
      {s === 'running' && pct === null && !!t.last_iteration && (
        <span className="why num-s">iteration {t.last_iteration.toLocaleString('en')}</span>
      )}
      {why && (
        <span className={`why${s === 'failed' ? ' err' : ''}`} title={why}>
          {why}
        </span>
      )}
    </>
  );
}
function MetricCell({ m, best, spark }: { m: Metric | undefined; best: boolean; spark: Array<number | null> | undefined }) {
  const v = m?.value ?? null;
  const tip = m
    ? `${m.key} ${m.value ?? ''}\nmin ${formatNumber(m.min)} at ${m.minAt.toLocaleString('en')}, max ${formatNumber(m.max)} at ${m.maxAt.toLocaleString('en')}`
    : undefined;
  return (
    <div role="gridcell" className={`c num${best ? ' best' : ''}${v === null ? ' nil' : ''}`} title={tip}>
      {spark && <Spark v={spark} w={40} color={best ? 'var(--best)' : 'var(--spark)'} />}
      <span className="mv">
        <b className="crown" aria-label={best ? 'best' : undefined}>
          {best ? '★' : ''}
        </b>
        {formatNumber(v)}
      </span>
    </div>
  );
}

interface RowProps {
  view: RowView;
  index: number;
  cols: Columns;
  best: Map<string, string>;
  words: Set<string>;
  sparks: Sparks;
  selected: boolean;
  current: boolean;
  wide: boolean;
  top: number;
  height: number;
  onSelect: (id: string, range: boolean) => void;
  onFocus: (i: number) => void;
}

export const TaskRow = memo(function TaskRow({
  view,
  index,
  cols,
  best,
  words,
  sparks,
  selected,
  current,
  wide,
  top,
  height,
  onSelect,
  onFocus,
}: RowProps) {
  const t = view.task;
  const to = taskPath(t.project?.id ?? '*', t.id);
  const click = (e: MouseEvent): void => {
    if (e.target instanceof Element && e.target.closest('a,button,input,label')) return;
    if (window.getSelection()?.toString()) return;
    if (e.shiftKey || e.ctrlKey || e.metaKey) onSelect(t.id, e.shiftKey);
    else navigate(to);
  };
  const key = (e: KeyboardEvent): void => {
    if (e.target === e.currentTarget && e.key === 'Enter') {
      e.preventDefault();
      navigate(to);
    }
  };
  const tags = t.tags ?? [];
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      aria-selected={selected}
      data-index={index}
      tabIndex={current ? 0 : -1}
      className={`tr${selected ? ' sel' : ''}`}
      style={{ transform: `translateY(${top}px)`, height }}
      onClick={click}
      onKeyDown={key}
      onFocus={() => onFocus(index)}
    >
      <div role="gridcell" className="c chk">
        <Checkbox
          tabIndex={-1}
          checked={selected}
          onChange={() => undefined}
          onClick={(e) => onSelect(t.id, e.shiftKey)}
          aria-label={`Select ${t.name ?? t.id}`}
        />
      </div>
      <div role="gridcell" className="c name">
        <Dot c={colorSlot(t.id)} />
        <Link tabIndex={-1} to={to} title={t.name}>
          {t.name || t.id}
        </Link>
        {tags.slice(0, 1).map((g) => (
          <Tag key={g}>{g}</Tag>
        ))}
        {tags.length > 1 && (
          <span className="more" title={tags.slice(1).join(', ')}>
            +{tags.length - 1}
          </span>
        )}
      </div>
      <div role="gridcell" className="c status">
        <StatusCell t={t} />
      </div>
      {wide && (
        <div role="gridcell" className="c tx2" title={t.project?.name}>
          <Link tabIndex={-1} to={projectPath(t.project?.id ?? '*')}>
            <Mid most={14}>{t.project?.name ?? '–'}</Mid>
          </Link>
        </div>
      )}
      {cols.metrics.map((k, i) => (
        <MetricCell
          key={k}
          m={view.metrics.get(k)}
          best={best.get(k) === t.id}
          spark={i < SPARKED ? (sparks.get(sparkKey(t.id, k)) ?? []) : undefined}
        />
      ))}
      {cols.params.map((k, i) => {
        const v = view.params.get(k);
        return (
          <div
            key={k}
            role="gridcell"
            className={`c ${words.has(k) ? 'word' : 'num'} mono${i === 0 ? ' p1' : ''}${v === undefined ? ' nil' : ''}`}
            title={v}
          >
            {v === undefined || v === '' ? '–' : v}
          </div>
        );
      })}
      <div role="gridcell" className="c tx2">
        <Ago t={parseTime(t.started)} />
      </div>
      <div role="gridcell" className="c num tx2">
        {formatDuration(durationOf(t))}
      </div>
      <div role="gridcell" className="c tx2" title={t.user?.name}>
        {t.user?.name ?? '–'}
      </div>
    </div>
  );
});

export function TaskCard({
  view,
  cols,
  best,
  top,
  showProject,
}: {
  view: RowView;
  cols: Columns;
  best: Map<string, string>;
  top: number;
  showProject: boolean;
}) {
  const t = view.task,
    s = statusOf(t),
    pct = progressOf(t),
    why = reasonOf(t);
  return (
    <Link to={taskPath(t.project?.id ?? '*', t.id)} className="tcard" role="listitem" style={{ transform: `translateY(${top}px)` }}>
      <div className="l1">
        <Dot c={colorSlot(t.id)} />
        <b>{t.name || t.id}</b>
        <StatusBadge s={s} pct={pct} />
      </div>
      <div className="l2">
        {s === 'running' && pct !== null ? (
          <>
            <Bar pct={pct} />
            <span className="num-s">{Math.round(pct)} %</span>
          </>
        ) : why ? (
          <span className={`cut${s === 'failed' ? ' err' : ''}`}>{why}</span>
        ) : (
          <span className="mut cut">
            {showProject
              ? t.project?.name
              : (t.tags ?? []).join(' · ') || (t.last_iteration ? `iteration ${t.last_iteration.toLocaleString('en')}` : t.type)}
          </span>
        )}
      </div>
      <div className="l3">
        {cols.metrics.slice(0, 2).map((k) => {
          const m = view.metrics.get(k);
          return m?.value === null || m === undefined ? null : (
            <span key={k} className="cut">
              {k.split('/').pop()} <b className={best.get(k) === t.id ? 'bestx' : ''}>{formatNumber(m.value)}</b>
            </span>
          );
        })}
        {cols.params.slice(0, 1).map((k) =>
          view.params.get(k) ? (
            <span key={k} className="mono cut">
              {k.split('/').pop()} {view.params.get(k)}
            </span>
          ) : null,
        )}
        <span className="ago">
          {t.started ? <Ago t={parseTime(t.started)} /> : 'not started'}
          {t.user?.name ? ` · ${t.user.name}` : ''}
        </span>
      </div>
    </Link>
  );
}

// Scalars: metric tree on the left, wall of charts on the right. What is shown stands in the address.
import { Button, Modal, SegmentedControl, Slider, Switch } from '@mantine/core';
import '@mantine/core/styles/Slider.css';
import { IconSearch, IconTable } from '@tabler/icons-react';
import { useMemo, useRef, useState } from 'react';
import { activeStatus } from '../../api/queries';
import { useScalars } from '../../api/scalars';
import type { Task } from '../../api/types';
import type { XKind } from '../../charts/chart';
import type { Curve } from '../../charts/curves';
import { Panel } from '../../charts/panel';
import { ValueTable } from '../../charts/values';
import { I, IconBtn } from '../../components/bits';
import { Empty, Failed, LoadingCards } from '../../components/states';
import { colorSlot } from '../../lib/color';
import { byName, formatNumber, parseTime, plural } from '../../lib/format';
import { useKeys } from '../../lib/keys';
import { useNarrow } from '../../lib/media';
import { rankMetric, statusOf } from '../../lib/task';
import { useParam } from '../../router';
import { groupCurves, matches, MetricTree, type Group } from './tree';
import './scalars.css';

const MAX_FIRST = 8;

/** What is on at first: all metrics but machine monitors; of a metric with many variants the first eight. */
function firstShown(groups: Group[]): Set<string> {
  const user = groups.filter((g) => !g.metric.startsWith(':monitor:'));
  return new Set((user.length ? user : groups).flatMap((g) => g.curves.slice(0, MAX_FIRST).map((c) => c.key)));
}

export default function Scalars({ task: t }: { task: Task }) {
  const live = activeStatus(t.status);
  const [x, setX] = useParam('x', 'iter');
  const [w, setW] = useParam('smooth', '0');
  const [cols, setCols] = useParam('cols', '2');
  const [logY, setLog] = useParam('log', '');
  const [band, setBand] = useParam('band', '1');
  const [find, setFind] = useParam('show', '');
  const [table, setTable] = useState(false);
  const [picking, setPicking] = useState(false);
  const [own, setOwn] = useState<Set<string> | null>(null);
  const narrow = useNarrow();
  const box = useRef<HTMLInputElement>(null);
  useKeys(useMemo(() => ({ '/': () => box.current?.focus() }), []));
  const kind: XKind = x === 'time' || x === 'clock' ? x : 'iter';
  const q = useScalars(t.id, kind === 'iter' ? 'iter' : 'timestamp', t.status);
  const slot = colorSlot(t.id);
  const groups = useMemo(
    () => groupCurves(q.data?.curves ?? []).sort((a, b) => rankMetric(a.metric) - rankMetric(b.metric) || byName(a.metric, b.metric)),
    [q.data],
  );
  const auto = useMemo(() => firstShown(groups), [groups]);
  const on = own ?? auto;
  const weight = Math.max(0, Math.min(0.99, Number(w) || 0));
  const wall = useMemo(
    () =>
      groups
        .map((g) => ({
          g,
          lines: g.curves
            .map((curve, i) => ({ curve, color: (slot + i) % 20, label: curve.variant || curve.metric }))
            .filter((l) => on.has(l.curve.key) && matches(l.curve, find)),
        }))
        .filter((p) => p.lines.length > 0),
    [groups, on, find, slot],
  );

  if (q.isPending)
    return (
      <div className="body">
        <LoadingCards n={4} />
      </div>
    );
  if (q.error && !q.data)
    return (
      <div className="body">
        <Failed what="The scalars could not be loaded" error={q.error} retry={() => void q.refetch()} />
      </div>
    );
  const singles = q.data?.singles ?? [];
  if (groups.length === 0 && singles.length === 0)
    return (
      <div className="body">
        <Empty title={live ? 'No scalar reported yet' : 'This task reported no scalars'}>
          Curves appear here when the task calls <code>report_scalar</code> or writes to TensorBoard.
        </Empty>
      </div>
    );
  const all: Curve[] = wall.flatMap((p) => p.lines.map((l) => l.curve));
  const n = narrow ? 1 : Number(cols) || 2;
  return (
    <div className="body scal">
      <aside className="tree" aria-label="Metrics">
        <label className="tsearch">
          <IconSearch size={14} stroke={1.6} />
          <input
            ref={box}
            value={find}
            onChange={(e) => setFind(e.target.value)}
            placeholder="loss*, iou…"
            aria-label="Find metric"
            onKeyDown={(e) => {
              if (e.key === 'Escape') {
                setFind('');
                e.currentTarget.blur();
              }
            }}
          />
        </label>
        <MetricTree groups={groups} on={on} set={setOwn} find={find} />
      </aside>
      <div className="wallbox">
        <div className="wtool">
          {narrow && <Button onClick={() => setPicking(true)}>Metrics</Button>}
          <span className="wl hide-s">X axis</span>
          <SegmentedControl
            data={[
              { label: 'Iteration', value: 'iter' },
              { label: 'Time', value: 'time' },
              { label: 'Clock', value: 'clock' },
            ]}
            value={kind}
            onChange={setX}
            aria-label="X axis"
          />
          <i className="vsep" />
          <span className="wl hide-s">Smoothing</span>
          <Slider
            className="slid"
            size={3}
            value={weight}
            min={0}
            max={0.99}
            step={0.01}
            onChange={(v) => setW(String(+v.toFixed(2)))}
            label={null}
            thumbLabel="Smoothing weight"
          />
          <span className="num-s wnum">{weight.toFixed(2)}</span>
          <i className="vsep" />
          <Switch
            label="Min–max"
            checked={band === '1'}
            disabled={all.length > 0 && all.every((c) => !c.band)}
            onChange={(e) => setBand(e.currentTarget.checked ? '1' : '0')}
          />
          <Switch label="Log y" checked={logY === '1'} onChange={(e) => setLog(e.currentTarget.checked ? '1' : '')} />
          <span className="sp" />
          <IconBtn
            label={table ? 'Charts' : 'Values as a table'}
            data-on={table || undefined}
            aria-pressed={table}
            onClick={() => setTable(!table)}
          >
            <IconTable {...I} />
          </IconBtn>
          <SegmentedControl className="hide-s" data={['1', '2', '3']} value={String(cols)} onChange={setCols} aria-label="Columns" />
        </div>
        <div className="wall" style={{ gridTemplateColumns: `repeat(${table ? 1 : n}, minmax(0, 1fr))` }}>
          {singles.length > 0 && (
            <section className="card singles" aria-label="Single values">
              {singles.map((c) => (
                <div key={c.key}>
                  <span>{c.name}</span>
                  <b className="num-s">{formatNumber(c.value)}</b>
                </div>
              ))}
            </section>
          )}
          {table ? (
            <ValueTable curves={all} slot={slot} groups={groups} />
          ) : wall.length === 0 ? (
            <Empty title="No metric is shown">
              {find ? `Nothing matches "${find}" among ${plural(groups.length, 'metric')}.` : 'Tick metrics on the left.'}
            </Empty>
          ) : (
            wall.map((p) => (
              <Panel
                key={p.g.metric}
                title={
                  p.lines.length === 1 && p.g.curves.length === 1 && p.g.metric !== p.g.curves[0]?.variant && p.g.curves[0]?.variant
                    ? `${p.g.metric}/${p.g.curves[0].variant}`
                    : p.g.metric
                }
                lines={p.lines}
                of={p.g.curves.length}
                log={logY === '1'}
                band={band === '1'}
                weight={weight}
                x={kind}
                t0={parseTime(t.started)}
              />
            ))
          )}
        </div>
        <Modal
          opened={picking}
          onClose={() => setPicking(false)}
          title="Metrics"
          lockScroll={false}
          closeButtonProps={{ 'aria-label': 'Close' }}
        >
          <MetricTree groups={groups} on={on} set={setOwn} find={find} />
        </Modal>
        <p className="vh" role="status">
          {statusOf(t) === 'running' ? 'Updating while the task runs.' : ''}
        </p>
      </div>
    </div>
  );
}

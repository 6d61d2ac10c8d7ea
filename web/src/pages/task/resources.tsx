// Machine load while the task ran, from the SDK's monitor series: neutral strips, never in run colours.
import type { Curve } from '../../charts/curves';
import { thin } from '../../charts/curves';
import { Spark } from '../../components/bits';
import { formatNumber } from '../../lib/format';

const WORDS: Array<[RegExp, string, string]> = [
  [/^gpu_(\d+)_utilization$/, 'GPU $1', ' %'],
  [/^gpu_(\d+)_mem_usage$/, 'GPU $1 memory', ' %'],
  [/^gpu_(\d+)_mem_used_gb$/, 'GPU $1 memory', ' GB'],
  [/^gpu_(\d+)_temperature$/, 'GPU $1 heat', ' °C'],
  [/^cpu_usage$/, 'CPU', ' %'],
  [/^memory_used_gb$/, 'RAM', ' GB'],
  [/^memory_free_gb$/, 'RAM free', ' GB'],
  [/^io_read_mbs$/, 'Disk read', ' MB/s'],
  [/^io_write_mbs$/, 'Disk write', ' MB/s'],
  [/^network_rx_mbs$/, 'Network in', ' MB/s'],
  [/^network_tx_mbs$/, 'Network out', ' MB/s'],
];
const ORDER = [
  'gpu_0_utilization',
  'gpu_0_mem_used_gb',
  'cpu_usage',
  'memory_used_gb',
  'io_read_mbs',
  'network_rx_mbs',
  'io_write_mbs',
  'network_tx_mbs',
  'memory_free_gb',
];

export function Resources({ curves }: { curves: Curve[] }) {
  const own = curves.filter((c) => c.metric.startsWith(':monitor:'));
  if (own.length === 0) return null;
  const rank = (v: string): number => {
    const i = ORDER.indexOf(v);
    return i < 0 ? 99 : i;
  };
  const list = own.sort((a, b) => rank(a.variant) - rank(b.variant)).slice(0, 5);
  return (
    <section className="card" aria-label="Resources">
      <div className="ch">
        <h2>Resources</h2>
        <span className="mut">as the SDK's monitor reported</span>
      </div>
      <div className="rstrip" style={{ gridTemplateColumns: `repeat(${Math.max(2, list.length)}, minmax(0, 1fr))` }}>
        {list.map((c) => {
          const w = WORDS.find(([re]) => re.test(c.variant));
          const nums = c.mean.filter((v): v is number => v !== null),
            avg = nums.reduce((a, b) => a + b, 0) / Math.max(1, nums.length);
          return (
            <div key={c.key}>
              <div className="rl cut" title={c.variant}>
                {w ? c.variant.replace(w[0], w[1]) : c.variant}
              </div>
              <div className="rv">
                <b>{c.last === null ? 'N/A' : `${formatNumber(c.last, 3)}${w?.[2] ?? ''}`}</b>
                <small>avg {formatNumber(avg, 3)}</small>
              </div>
              <Spark v={thin(c.mean, 60)} w={200} h={28} color="var(--tx2)" fill />
            </div>
          );
        })}
      </div>
    </section>
  );
}

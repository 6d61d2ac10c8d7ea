// The same numbers as the charts, as a table: for readers, for keyboards, for copying.
import { ODD, type Curve } from './curves';
import { runColor } from '../lib/color';
import { formatCount, formatNumber } from '../lib/format';
import type { Group } from '../pages/task/tree';

const fold = (v: Array<number | null>, f: (a: number, b: number) => number): number | null =>
  v.reduce<number | null>((a, b) => (b === null ? a : a === null ? b : f(a, b)), null);

const count = (v: number[]): number => v.reduce((a, b) => a + b, 0);

export function ValueTable({ curves, slot, groups }: { curves: Curve[]; slot: number; groups: Group[] }) {
  const color = new Map(groups.flatMap((g) => g.curves.map((c, i) => [c.key, (slot + i) % 20] as const)));
  // Infinite values are rare: their columns come with them.
  const odd = ODD.filter((o) => o.key === 'nan' || curves.some((c) => count(c[o.key]) > 0));
  return (
    <section className="card vtab">
      <table>
        <thead>
          <tr>
            <th scope="col">Metric</th>
            <th scope="col" className="num">
              First
            </th>
            <th scope="col" className="num">
              Last
            </th>
            <th scope="col" className="num">
              Min
            </th>
            <th scope="col" className="num">
              Max
            </th>
            <th scope="col" className="num">
              Points
            </th>
            {odd.map((o) => (
              <th key={o.key} scope="col" className="num" title={o.words} aria-label={o.words}>
                {o.short}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {curves.map((c) => {
            return (
              <tr key={c.key}>
                <th scope="row">
                  <span className="dot" style={{ background: runColor(color.get(c.key) ?? 0) }} />{' '}
                  {c.variant && c.variant !== c.metric ? `${c.metric}/${c.variant}` : c.metric}
                </th>
                <td className="num">{formatNumber(c.mean.find((v) => v !== null) ?? null)}</td>
                <td className="num">{formatNumber(c.last)}</td>
                <td className="num">{formatNumber(fold(c.min, Math.min))}</td>
                <td className="num">{formatNumber(fold(c.max, Math.max))}</td>
                <td className="num">{formatCount(c.total)}</td>
                {odd.map((o) => {
                  const n = count(c[o.key]);
                  return (
                    <td key={o.key} className={`num${n ? ' nan' : ' nil'}`}>
                      {n ? formatCount(n) : '–'}
                    </td>
                  );
                })}
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}

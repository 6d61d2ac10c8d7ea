// The same numbers as the charts, as a table: for readers, for keyboards, for copying.
import type { Curve } from './curves';
import { runColor } from '../lib/color';
import { formatCount, formatNumber } from '../lib/format';
import type { Group } from '../pages/task/tree';

const fold = (v: Array<number | null>, f: (a: number, b: number) => number): number | null =>
  v.reduce<number | null>((a, b) => (b === null ? a : a === null ? b : f(a, b)), null);

export function ValueTable({ curves, slot, groups }: { curves: Curve[]; slot: number; groups: Group[] }) {
  const color = new Map(groups.flatMap((g) => g.curves.map((c, i) => [c.key, (slot + i) % 20] as const)));
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
            <th scope="col" className="num">
              NaN
            </th>
          </tr>
        </thead>
        <tbody>
          {curves.map((c) => {
            const nan = c.nan.reduce((a, b) => a + b, 0);
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
                <td className={`num${nan ? ' nan' : ' nil'}`}>{nan ? formatCount(nan) : '–'}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}

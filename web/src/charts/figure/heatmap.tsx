// Heat map (confusion matrix): one hue from surface to blue, values in the cells while they fit, a canvas when there are many.
import { useEffect, useMemo, useRef } from 'react';
import { cssToken } from '../../lib/color';
import { formatNumber } from '../../lib/format';
import { useScheme } from '../../lib/scheme';
import type { HeatFigure } from './parse';

const IN_CELLS = 30;

function BigHeat({ f, lo, k }: { f: HeatFigure; lo: number; k: number }) {
  const ref = useRef<HTMLCanvasElement>(null);
  const scheme = useScheme();
  useEffect(() => {
    const c = ref.current,
      ctx = c?.getContext('2d');
    if (!c || !ctx) return;
    const h = f.z.length,
      w = f.x.length;
    c.width = w;
    c.height = h;
    const rgb = (hex: string): number[] => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
    const a = rgb(cssToken('--surface')),
      b = rgb(cssToken('--run')),
      img = ctx.createImageData(w, h);
    f.z.forEach((row, y) =>
      row.forEach((v, x) => {
        const t = v === null ? 0 : (v - lo) * k,
          o = (y * w + x) * 4;
        for (let i = 0; i < 3; i++) img.data[o + i] = (a[i] ?? 0) + ((b[i] ?? 0) - (a[i] ?? 0)) * t;
        img.data[o + 3] = v === null ? 0 : 255;
      }),
    );
    ctx.putImageData(img, 0, 0);
  }, [f, lo, k, scheme]);
  return <canvas ref={ref} className="bigheat" role="img" aria-label={`${f.title}, ${f.z.length} by ${f.x.length} cells`} />;
}

export function HeatMap({ f: given }: { f: HeatFigure }) {
  // Drawn with the first class on top, as people read a matrix; Plotly counts upwards.
  const f = useMemo(
    () => (given.upward && !/confusion/i.test(given.title) ? { ...given, y: [...given.y].reverse(), z: [...given.z].reverse() } : given),
    [given],
  );
  const flat = f.z.flat().filter((v): v is number => v !== null);
  const lo = Math.min(
      0,
      ...flat.slice(0, 1),
      flat.reduce((a, b) => Math.min(a, b), Infinity),
    ),
    hi = flat.reduce((a, b) => Math.max(a, b), -Infinity),
    k = hi > lo ? 1 / (hi - lo) : 0;
  // The column of the names is as wide as they are, within limits; the others share the rest.
  const labels = Math.min(120, 10 + 6.6 * Math.max(...f.y.map((y) => String(y).length)));
  const small = f.z.length <= IN_CELLS && f.x.length <= IN_CELLS;
  return (
    <div className="heat">
      {f.yTitle && <span className="hy">{f.yTitle}</span>}
      {small ? (
        <div className="hscroll">
          <table>
            <caption className="vh">{f.title}</caption>
            <colgroup>
              <col style={{ width: labels }} />
            </colgroup>
            <tbody>
              {f.z.map((row, i) => (
                <tr key={i}>
                  <th scope="row" title={f.y[i]}>
                    {f.y[i]}
                  </th>
                  {f.x.map((x, j) => {
                    const v = row[j] ?? null;
                    return (
                      <td
                        key={j}
                        className="num-s"
                        style={{ '--v': v === null ? 0 : (v - lo) * k } as React.CSSProperties}
                        title={`${f.yTitle || 'row'} ${f.y[i] ?? ''}, ${f.xTitle || 'column'} ${x}: ${v ?? '–'}`}
                      >
                        {v === null ? '–' : formatNumber(v)}
                      </td>
                    );
                  })}
                </tr>
              ))}
            </tbody>
            <tfoot>
              <tr>
                <td />
                {f.x.map((x, j) => (
                  <th key={j} scope="col" title={x}>
                    {x}
                  </th>
                ))}
              </tr>
            </tfoot>
          </table>
        </div>
      ) : (
        <BigHeat f={f} lo={lo} k={k} />
      )}
      {f.xTitle && <span className="hx">{f.xTitle}</span>}
    </div>
  );
}

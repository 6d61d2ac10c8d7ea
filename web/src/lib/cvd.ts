// Which curves of one chart are too alike for colour-blind eyes: those get the next dash. OKLab distance, Machado's simulation at full severity.

type V = [number, number, number];
const SIM: Array<[V, V, V]> = [
  [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
];
const mul = (m: [V, V, V], v: V): V => m.map((r) => r[0] * v[0] + r[1] * v[1] + r[2] * v[2]) as V;
const clamp = (x: number): number => Math.min(1, Math.max(0, x));

function linear(hex: string): V {
  return [1, 3, 5].map((i) => {
    const c = parseInt(hex.slice(i, i + 2), 16) / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  }) as V;
}
function oklab([r, g, b]: V): V {
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}
/** The smallest distance of two colours over normal sight and the three kinds of colour blindness. */
export function seenDistance(a: string, b: string): number {
  const la = linear(a),
    lb = linear(b);
  return Math.min(
    ...SIM.map((m) => {
      const x = oklab(mul(m, la).map(clamp) as V),
        y = oklab(mul(m, lb).map(clamp) as V);
      return Math.hypot(x[0] - y[0], x[1] - y[1], x[2] - y[2]);
    }),
  );
}

export const DASHES: number[][] = [[], [6, 3], [2, 2], [8, 3, 2, 3]];
const ALIKE = 0.08;

/** An index into DASHES for each colour: 0 unless an earlier curve with the same dash looks too alike. */
export function dashes(colors: string[]): number[] {
  const out: number[] = [];
  colors.forEach((c, i) => {
    let d = 0;
    while (d < DASHES.length - 1 && colors.slice(0, i).some((o, j) => out[j] === d && seenDistance(o, c) < ALIKE)) d++;
    out.push(d);
  });
  return out;
}

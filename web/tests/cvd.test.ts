// The palette keeps the distances the design measured, and dashes tell apart what colour cannot.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { dashes, seenDistance } from '../src/lib/cvd';

const css = readFileSync(new URL('../src/styles/tokens.css', import.meta.url), 'utf8');
const palette = (scheme: string): string[] => {
  const block = css.slice(css.indexOf(`scheme='${scheme}'`));
  return Array.from({ length: 20 }, (_, i) => new RegExp(`--run${i}: (#[0-9a-f]{6})`).exec(block)?.[1] ?? '');
};
describe.each(['light', 'dark'])('%s palette', (scheme) => {
  const p = palette(scheme);
  it('has 20 colours, none closer than 0.04 for any eye', () => {
    expect(p.every((c) => /^#[0-9a-f]{6}$/.test(c))).toBe(true);
    const all = p.flatMap((a, i) => p.slice(i + 1).map((b) => seenDistance(a, b)));
    expect(Math.min(...all)).toBeGreaterThan(0.04);
  });
  it('needs no dash for the first four curves of slot 0', () => expect(dashes(p.slice(0, 4))).toEqual([0, 0, 0, 0]));
  it('gives each pair that looks alike different dashes', () => {
    const d = dashes(p.slice(0, 12));
    p.slice(0, 12).forEach((a, i) =>
      p.slice(0, i).forEach((b, j) => {
        if (seenDistance(a, b) < 0.08 && d[i] === d[j]) expect(d[i]).toBe(3);
      }),
    );
  });
});
it('gives equal colours different dashes', () =>
  expect(dashes(['#000000', '#000000', '#000000', '#000000', '#000000'])).toEqual([0, 1, 2, 3, 3]));

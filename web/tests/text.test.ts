// Console text: ANSI to classes, hidden characters made visible, progress bars folded, search hits cut.
import { describe, expect, it } from 'vitest';
import { lastState, parseAnsi, plainText } from '../src/lib/ansi';
import { foldLog, markOf, parseProgress, type LogLine } from '../src/lib/logfold';
import { markHits } from '../src/pages/task/line';

const E = '\u001b[';
describe('parseAnsi', () => {
  it('leaves plain text alone', () => expect(parseAnsi('hello <b>')).toEqual([{ text: 'hello <b>', cls: '' }]));
  it('maps colours, bold and dim to classes', () => {
    expect(parseAnsi(`${E}31;1mERR${E}0m ok`)).toEqual([
      { text: 'ERR', cls: 'a-r a-bold' },
      { text: ' ok', cls: '' },
    ]);
    expect(parseAnsi(`${E}2mfaint${E}22m on`)).toEqual([
      { text: 'faint', cls: 'a-d' },
      { text: ' on', cls: '' },
    ]);
    expect(parseAnsi(`${E}4;36mlink`)).toEqual([{ text: 'link', cls: 'a-c a-u' }]);
    expect(parseAnsi(`${E}91mbright${E}39m plain`)).toEqual([
      { text: 'bright', cls: 'a-r' },
      { text: ' plain', cls: '' },
    ]);
  });
  it('brings 256 and true colours to the nearest class', () => {
    expect(parseAnsi(`${E}38;5;196mx`)[0]?.cls).toBe('a-r');
    expect(parseAnsi(`${E}38;5;46mx`)[0]?.cls).toBe('a-g');
    expect(parseAnsi(`${E}38;5;240mx`)[0]?.cls).toBe('a-d');
    expect(parseAnsi(`${E}38;2;30;90;255mx`)[0]?.cls).toBe('a-b');
    expect(parseAnsi(`${E}48;5;22mback only`)[0]?.cls).toBe('');
  });
  it('drops what moves the cursor, sets titles or makes links', () => {
    expect(plainText(`${E}2K${E}1Gdone`)).toBe('done');
    expect(plainText('\u001b]0;title\u0007text')).toBe('text');
    expect(plainText('\u001b]8;;javascript:alert(1)\u001b\\click\u001b]8;;\u001b\\')).toBe('click');
    expect(plainText('cut \u001b[3')).toBe('cut [3');
  });
  it('makes bidi controls, NUL and zero-width marks visible', () => {
    expect(plainText('a\u202eb\u0000c\u200bd')).toBe('a\ufffdb\ufffdc\ufffdd');
    expect(plainText('tab\tstays')).toBe('tab\tstays');
  });
  it('keeps the last state of a line with carriage returns', () => {
    expect(lastState('10%\r20%\r30%')).toBe('30%');
    expect(lastState('done\r')).toBe('done');
    expect(lastState('\r')).toBe('');
  });
});

const line = (n: number, text: string): LogLine => ({ n, t: n, level: 'info', text });
describe('foldLog', () => {
  const bars = [0, 10, 55, 100].map((p, i) =>
    line(i + 1, `eval: ${String(p).padStart(3)}%|${'█'.repeat(p / 10)}   | ${p}/100 [00:01<00:02, 9.3it/s]`),
  );
  it('reads a progress bar', () => {
    expect(parseProgress('epoch 3:  62%|██████▏   | 527/850 [00:57<00:35]')).toMatchObject({ before: 'epoch 3:', pct: 62 });
    expect(parseProgress('100%|██████████| 10/10')).toMatchObject({ before: '', pct: 100 });
    expect(parseProgress('accuracy 62% | better than before')).toBeNull();
    expect(parseProgress('loss 0.1')).toBeNull();
  });
  it('folds a bar to its last state and says how many went', () => {
    const rows = foldLog([...bars, line(5, 'next')], true);
    expect(rows.map((r) => [r.line.n, r.folded, r.progress?.pct ?? null])).toEqual([
      [1, 3, 100],
      [5, 0, null],
    ]);
    expect(foldLog(bars, false)).toHaveLength(4);
  });
  it('does not fold a bar that starts anew', () =>
    expect(foldLog([...bars, ...bars.map((b) => ({ ...b, n: b.n + 10 }))], true)).toHaveLength(2));
  it('marks errors, warnings and whole tracebacks', () => {
    expect(markOf('error', 'x')).toBe('error');
    expect(markOf('info', 'RuntimeError: CUDA out of memory')).toBe('error');
    expect(markOf('info', 'UserWarning: slow')).toBe('warn');
    expect(markOf('info', 'mean error 0.1')).toBe('');
    const rows = foldLog(
      ['Traceback (most recent call last):', '  File "a.py", line 1, in f', '    f()', "KeyError: 'x'", 'after'].map((t, i) => line(i, t)),
      true,
    );
    expect(rows.map((r) => r.mark)).toEqual(['trace', 'trace', 'trace', 'error', '']);
  });
});
it('cuts spans at search hits, also over span ends', () => {
  const spans = parseAnsi(`val ${E}32mmIoU${E}0m 0.8 miou`);
  const out = markHits(spans, 'MIOU');
  expect(out.filter((s) => s.hit).map((s) => s.text)).toEqual(['mIoU', 'miou']);
  expect(out.map((s) => s.text).join('')).toBe('val mIoU 0.8 miou');
  expect(
    markHits(parseAnsi(`ab${E}31mcd`), 'bc')
      .filter((s) => s.hit)
      .map((s) => s.text),
  ).toEqual(['b', 'c']);
});

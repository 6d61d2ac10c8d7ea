// Terminal text to spans: SGR colours become classes of our palette, links stay text, everything that could hide or reorder text is made visible.

export interface Span {
  text: string;
  cls: string;
}

/** The 16 colours, mapped to the readable ones of the theme: red green yellow blue magenta cyan dim, else none. */
const BASIC = ['d', 'r', 'g', 'y', 'b', 'm', 'c', ''] as const;
interface State {
  fg: string;
  bold: boolean;
  dim: boolean;
  under: boolean;
  inverse: boolean;
}
const fresh = (): State => ({ fg: '', bold: false, dim: false, under: false, inverse: false });

/** Nearest class for an RGB colour: by hue when it is saturated, else dim or plain. */
function nearest(r: number, g: number, b: number): string {
  const max = Math.max(r, g, b),
    min = Math.min(r, g, b),
    d = max - min;
  if (d < 40) return max < 140 ? 'd' : '';
  let h = max === r ? ((g - b) / d) % 6 : max === g ? (b - r) / d + 2 : (r - g) / d + 4;
  if (h < 0) h += 6;
  if (h < 0.6 || h >= 5.6) return 'r';
  if (h < 1.35) return 'y';
  if (h < 2.6) return 'g';
  if (h < 3.4) return 'c';
  if (h < 4.4) return 'b';
  return 'm';
}
function from256(n: number): string {
  if (n < 8) return BASIC[n] ?? '';
  if (n < 16) return BASIC[n - 8] ?? '';
  if (n >= 232) return n < 246 ? 'd' : '';
  const c = n - 16,
    lv = [0, 95, 135, 175, 215, 255];
  return nearest(lv[Math.floor(c / 36)] ?? 0, lv[Math.floor(c / 6) % 6] ?? 0, lv[c % 6] ?? 0);
}
function apply(st: State, codes: number[]): void {
  for (let i = 0; i < codes.length; i++) {
    const c = codes[i] ?? 0;
    if (c === 0) Object.assign(st, fresh());
    else if (c === 1) st.bold = true;
    else if (c === 2) st.dim = true;
    else if (c === 4) st.under = true;
    else if (c === 7) st.inverse = true;
    else if (c === 22) {
      st.bold = false;
      st.dim = false;
    } else if (c === 24) st.under = false;
    else if (c === 27) st.inverse = false;
    else if (c >= 30 && c <= 37) st.fg = BASIC[c - 30] ?? '';
    else if (c >= 90 && c <= 97) st.fg = BASIC[c - 90] ?? '';
    else if (c === 39) st.fg = '';
    else if (c === 38 || c === 48) {
      const rgb = codes[i + 1] === 2;
      const cls = rgb ? nearest(codes[i + 2] ?? 0, codes[i + 3] ?? 0, codes[i + 4] ?? 0) : from256(codes[i + 2] ?? 7);
      if (c === 38) st.fg = cls;
      i += rgb ? 4 : 2;
    }
  }
}
function cls(st: State): string {
  const out: string[] = [];
  if (st.dim) out.push('a-d');
  else if (st.fg) out.push(`a-${st.fg}`);
  if (st.bold) out.push('a-bold');
  if (st.under) out.push('a-u');
  if (st.inverse) out.push('a-inv');
  return out.join(' ');
}

// CSI sequences, OSC strings (ended by BEL or ST), and two-byte escapes.
const ESC = /\u001b\[([0-9;:?<=>!]*)[ -/]*([@-~])|\u001b\]([^\u0007\u001b]*)(?:\u0007|\u001b\\)|\u001b[ -/]*[0-Z\\^-~]|\u009b[0-9;]*[@-~]/g;
// What may reorder or hide text: bidi controls, zero width marks, other control characters.
const HIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;
const visible = (s: string): string => s.replace(HIDDEN, '\ufffd');

/** What a terminal would show of a line with carriage returns: the last state, later text laid over earlier. */
export function lastState(line: string): string {
  if (!line.includes('\r')) return line;
  const parts = line.split('\r').filter((p) => p !== '');
  return parts[parts.length - 1] ?? '';
}

/** Splits one log line into spans; never emits markup, only text with class names of our own. */
export function parseAnsi(line: string): Span[] {
  const text = lastState(line);
  if (!text.includes('\u001b') && !text.includes('\u009b')) return text === '' ? [] : [{ text: visible(text), cls: '' }];
  const out: Span[] = [];
  const st = fresh();
  let at = 0;
  const push = (s: string): void => {
    if (s === '') return;
    const c = cls(st),
      last = out[out.length - 1];
    if (last && last.cls === c) last.text += visible(s);
    else out.push({ text: visible(s), cls: c });
  };
  ESC.lastIndex = 0;
  for (let m = ESC.exec(text); m; m = ESC.exec(text)) {
    push(text.slice(at, m.index));
    at = m.index + m[0].length;
    if (m[2] === 'm' && !/[?<=>!]/.test(m[1] ?? ''))
      apply(
        st,
        (m[1] ?? '').split(/[;:]/).map((n) => (n === '' ? 0 : Number(n))),
      );
  }
  push(text.slice(at).replace(/\u001b/g, ''));
  return out;
}

/** The bare text of a line, for search and copy. */
export const plainText = (line: string): string =>
  visible(
    lastState(line)
      .replace(ESC, '')
      .replace(/\u001b/g, ''),
  );

// A patch, file by file, each foldable; long files start folded. A stored script (no patch) is shown as plain code.
import { useMemo } from 'react';
import { plural } from '../../lib/format';

export interface FileDiff {
  name: string;
  lines: string[];
  add: number;
  del: number;
}
export function splitDiff(text: string): FileDiff[] {
  const out: FileDiff[] = [];
  for (const l of text.split('\n')) {
    const m = /^diff --git a\/(.*?) b\/(.*)$/.exec(l);
    if (m) {
      out.push({ name: m[2] ?? '', lines: [], add: 0, del: 0 });
      continue;
    }
    const f = out[out.length - 1];
    if (!f) continue;
    if (/^\+(?!\+\+ )/.test(l)) f.add++;
    else if (/^-(?!-- )/.test(l)) f.del++;
    f.lines.push(l);
  }
  return out;
}
const cls = (l: string): string | undefined =>
  l.startsWith('@@') ? 'hunk' : /^\+(?!\+\+ )/.test(l) ? 'add' : /^-(?!-- )/.test(l) ? 'del' : undefined;
const LONG = 400,
  MOST = 5000;

export function Diff({ text }: { text: string }) {
  const files = useMemo(() => splitDiff(text), [text]);
  if (files.length === 0)
    return (
      <pre className="code" tabIndex={0}>
        {text}
      </pre>
    );
  return (
    <div className="diff">
      {files.map((f, i) => (
        <details key={i} open={f.lines.length <= LONG}>
          <summary>
            <span className="mono file">{f.name}</span> <span className="add num-s">+{f.add}</span>{' '}
            <span className="del num-s">
              {'\u2212'}
              {f.del}
            </span>
          </summary>
          <pre className="code" tabIndex={0}>
            {f.lines.slice(0, MOST).map((l, k) => (
              <span key={k} className={cls(l)}>
                {l}
                {'\n'}
              </span>
            ))}
            {f.lines.length > MOST && `… ${plural(f.lines.length - MOST, 'line')} hidden`}
          </pre>
        </details>
      ))}
    </div>
  );
}

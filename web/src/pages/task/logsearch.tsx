// The console's search box: hits of how many, next and previous, and whether all lines were looked at.
import { IconChevronDown, IconChevronUp, IconSearch, IconX } from '@tabler/icons-react';
import type { RefObject } from 'react';
import { formatCount } from '../../lib/format';

export function LogSearch({
  box,
  find,
  setFind,
  hits,
  at,
  go,
  partial,
}: {
  box: RefObject<HTMLInputElement | null>;
  find: string;
  setFind: (v: string) => void;
  hits: number;
  at: number;
  go: (d: number) => void;
  partial: number | null;
}) {
  return (
    <div className="csearch" role="search">
      <IconSearch size={14} stroke={1.6} />
      <input
        ref={box}
        className="mono"
        value={find}
        onChange={(e) => setFind(e.target.value)}
        placeholder="Search the log"
        aria-label="Search the log"
        spellCheck={false}
        onKeyDown={(e) => {
          if (e.key === 'Enter') {
            e.preventDefault();
            go(e.shiftKey ? -1 : 1);
          } else if (e.key === 'Escape') {
            if (find) setFind('');
            else e.currentTarget.blur();
          }
        }}
      />
      {find && (
        <>
          <span className="hits" role="status">
            {at >= 0 ? (
              <>
                <b>{at + 1}</b> of {formatCount(hits)}
              </>
            ) : (
              <b>{formatCount(hits)}</b>
            )}{' '}
            {hits === 1 ? 'hit' : 'hits'}
            {partial !== null && <small> in {formatCount(partial)} lines so far</small>}
          </span>
          <button type="button" aria-label="Previous hit" disabled={hits === 0} onClick={() => go(-1)}>
            <IconChevronUp size={15} stroke={1.8} />
          </button>
          <button type="button" aria-label="Next hit" disabled={hits === 0} onClick={() => go(1)}>
            <IconChevronDown size={15} stroke={1.8} />
          </button>
          <button type="button" aria-label="Clear search" onClick={() => setFind('')}>
            <IconX size={14} stroke={1.8} />
          </button>
        </>
      )}
      {!find && <kbd>/</kbd>}
    </div>
  );
}

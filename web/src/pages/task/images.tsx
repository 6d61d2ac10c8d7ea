// Debug images by metric and variant, newest iteration first; a viewer with arrow keys steps through them.
import { Modal, SegmentedControl } from '@mantine/core';
import { IconChevronLeft, IconChevronRight } from '@tabler/icons-react';
import { useMemo, useState, type KeyboardEvent } from 'react';
import { useImages } from '../../api/queries';
import type { ImageEvent, Task } from '../../api/types';
import { I, IconBtn } from '../../components/bits';
import { Empty, Failed, LoadingCards } from '../../components/states';
import { byName } from '../../lib/format';
import { safeHref } from '../../lib/url';
import './images.css';

type Shot = ImageEvent & { href: string | null };
const PICTURE = /\.(png|jpe?g|gif|webp|bmp|svg)(\?|#|$)/i;

function Tile({ s, open }: { s: Shot; open: () => void }) {
  const name = `${s.metric}/${s.variant}, iteration ${s.iter.toLocaleString('en')}`;
  const [broken, setBroken] = useState(false);
  return (
    <figure className="card shot">
      {s.href && PICTURE.test(s.href) && !broken ? (
        <button type="button" onClick={open} aria-label={`Open ${name}`}>
          <img src={s.href} alt={name} loading="lazy" decoding="async" referrerPolicy="no-referrer" onError={() => setBroken(true)} />
        </button>
      ) : (
        <div className="noshot">
          {broken ? 'The file cannot be loaded' : s.href ? 'Not a picture' : 'This address opens only in the SDK'}
          {s.href && (
            <a className="link" href={s.href} target="_blank" rel="noopener noreferrer">
              Open
            </a>
          )}
        </div>
      )}
      <figcaption>
        <b className="cut" title={s.variant}>
          {s.variant}
        </b>
        <span className="sp" />
        <span className="mut num-s nw" title={`iteration ${s.iter.toLocaleString('en')}`}>
          {s.iter.toLocaleString('en')}
        </span>
      </figcaption>
    </figure>
  );
}

export default function Images({ task: t }: { task: Task }) {
  const [iters, setIters] = useState('1');
  const [at, setAt] = useState<number | null>(null);
  const q = useImages(t.id, Number(iters), t.status);
  const shots = useMemo(
    () =>
      (q.data ?? [])
        .map((e): Shot => ({ ...e, href: safeHref(e.url) }))
        .sort((a, b) => byName(a.metric, b.metric) || b.iter - a.iter || byName(a.variant, b.variant)),
    [q.data],
  );
  if (q.isPending)
    return (
      <div className="body">
        <LoadingCards n={6} />
      </div>
    );
  if (q.error && !q.data)
    return (
      <div className="body">
        <Failed what="The images could not be loaded" error={q.error} retry={() => void q.refetch()} />
      </div>
    );
  if (shots.length === 0)
    return (
      <div className="body">
        <Empty title="No images">
          They appear when the script calls <code>logger.report_image(…)</code> or writes images to TensorBoard.
        </Empty>
      </div>
    );
  const metrics = [...new Set(shots.map((s) => s.metric))];
  const cur = at === null ? null : shots[at];
  const step = (d: number): void => setAt((k) => (k === null ? null : (k + d + shots.length) % shots.length));
  const key = (e: KeyboardEvent): void => {
    if (e.key === 'ArrowRight' || e.key === 'ArrowDown') {
      e.preventDefault();
      step(1);
    }
    if (e.key === 'ArrowLeft' || e.key === 'ArrowUp') {
      e.preventDefault();
      step(-1);
    }
  };
  return (
    <div className="body">
      <div className="itool">
        <span className="mut small">Iterations of each image</span>
        <SegmentedControl
          data={[
            { label: 'Newest', value: '1' },
            { label: '3', value: '3' },
            { label: '10', value: '10' },
          ]}
          value={iters}
          onChange={setIters}
          aria-label="Iterations"
        />
      </div>
      {metrics.map((m) => (
        <section key={m} className="isec">
          <h2>{m}</h2>
          <div className="igrid">
            {shots.map((s, i) => s.metric === m && <Tile key={`${s.variant} ${s.iter} ${s.url ?? i}`} s={s} open={() => setAt(i)} />)}
          </div>
        </section>
      ))}
      <Modal
        opened={!!cur}
        onClose={() => setAt(null)}
        size="90vw"
        lockScroll={false}
        title={cur ? `${cur.metric}/${cur.variant}, iteration ${cur.iter.toLocaleString('en')}` : ''}
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        {cur?.href && (
          <div className="viewer" onKeyDown={key}>
            <IconBtn label="Previous image" onClick={() => step(-1)}>
              <IconChevronLeft {...I} />
            </IconBtn>
            <img src={cur.href} alt={`${cur.metric}/${cur.variant}`} referrerPolicy="no-referrer" />
            <IconBtn label="Next image" data-autofocus onClick={() => step(1)}>
              <IconChevronRight {...I} />
            </IconBtn>
          </div>
        )}
      </Modal>
    </div>
  );
}

// Head of a task: colour, name, id, tags; state with reason, where and since when; the actions that fit this state.
import { Button, Menu } from '@mantine/core';
import {
  IconArchive,
  IconBolt,
  IconChevronLeft,
  IconChevronRight,
  IconCopy,
  IconDots,
  IconPlayerPlay,
  IconPlayerStop,
  IconRestore,
  IconTrash,
  IconWorldUpload,
  IconX,
} from '@tabler/icons-react';
import { useEffect, useState, type ReactNode } from 'react';
import { refusal, RULES, type ActionName } from '../../api/actions';
import { useTimeline } from '../../api/queries';
import type { Task } from '../../api/types';
import { Ago, Bar, Copyable, Dot, I, IconBtn, Mid, StatusBadge, Tag } from '../../components/bits';
import { showDialog } from '../../components/dialogs/store';
import { colorSlot } from '../../lib/color';
import { path } from '../../lib/url';
import { formatDuration, parseTime } from '../../lib/format';
import { durationOf, isArchived, progressOf, reasonOf, shortId, statusOf } from '../../lib/task';
import { walkAt, type Place } from '../../lib/walk';
import { PopMenu } from '../../components/menu';
import { Link, navigate, projectPath, taskPath, type Tab } from '../../router';

const s = { size: 15, stroke: 1.6 } as const;
const ICONS: Record<ActionName, ReactNode> = {
  clone: <IconCopy {...s} />,
  enqueue: <IconPlayerPlay {...s} />,
  dequeue: <IconX {...s} />,
  abort: <IconPlayerStop {...s} />,
  reset: <IconRestore {...s} />,
  publish: <IconWorldUpload {...s} />,
  archive: <IconArchive {...s} />,
  unarchive: <IconArchive {...s} />,
  delete: <IconTrash {...s} />,
};

function start(a: ActionName, t: Task): void {
  if (a === 'clone') showDialog({ kind: 'clone', task: t });
  else if (a === 'enqueue') showDialog({ kind: 'enqueue', tasks: [t] });
  else
    showDialog({
      kind: 'confirm',
      action: a,
      tasks: [t],
      ...(a === 'delete' ? { after: () => navigate(projectPath(t.project?.id ?? '*')) } : {}),
    });
}
/** The one action this state asks for, beside Clone. */
function mainAction(t: Task): ActionName | null {
  switch (statusOf(t)) {
    case 'draft':
      return 'enqueue';
    case 'queued':
      return 'dequeue';
    case 'running':
    case 'stopping':
      return 'abort';
    case 'failed':
    case 'aborted':
      return 'enqueue';
    default:
      return null;
  }
}

/** A clock that ticks while the task runs. */
function Elapsed({ t }: { t: Task }) {
  const live = t.status === 'in_progress';
  const [, tick] = useState(0);
  useEffect(() => {
    if (!live) return;
    const id = setInterval(() => tick((n) => n + 1), 1000);
    return () => clearInterval(id);
  }, [live]);
  return <>{formatDuration(durationOf(t))}</>;
}
function Facts({ t }: { t: Task }) {
  const st = statusOf(t),
    pct = progressOf(t),
    why = reasonOf(t);
  const facts: ReactNode[] = [];
  if (st === 'running' || st === 'stopping') {
    facts.push(
      <span key="p" className="num-s">
        {pct !== null && (
          <>
            <b>{Math.round(pct)} %</b> ·{' '}
          </>
        )}
        {t.last_iteration ? `iteration ${t.last_iteration.toLocaleString('en')} · ` : ''}
        <Elapsed t={t} />
      </span>,
    );
    if (t.last_worker)
      facts.push(
        <span key="w">
          on <Link to="/workers">{t.last_worker}</Link>
        </span>,
      );
  } else if (durationOf(t) !== null)
    facts.push(
      <span key="d" className="num-s">
        ran {formatDuration(durationOf(t))}
      </span>,
    );
  if (t.execution?.queue?.name && st !== 'draft')
    facts.push(
      <span key="q">
        queue <Link to={path('queues', t.execution.queue.id)}>{t.execution.queue.name}</Link>
      </span>,
    );
  const since =
    t.started && st !== 'draft' ? (
      <>
        started <Ago t={parseTime(t.started)} />
      </>
    ) : (
      <>
        created <Ago t={parseTime(t.created)} />
      </>
    );
  facts.push(
    <span key="s">
      {since}
      {t.user?.name ? ` by ${t.user.name}` : ''}
    </span>,
  );
  if (isArchived(t)) facts.push(<span key="a">archived</span>);
  return (
    <div className="row2">
      <StatusBadge s={st} pct={pct} />
      {(st === 'running' || st === 'stopping') && pct !== null && <Bar pct={pct} />}
      {why && st !== 'queued' && (
        <span className={`why${st === 'failed' ? ' err' : ''}`} title={why}>
          {why}
        </span>
      )}
      {facts.map((f, i) => (
        <span key={i} className="fact">
          {(i > 0 || (why && st !== 'queued')) && <i className="sepd" />}
          {f}
        </span>
      ))}
      <Reused t={t} />
    </div>
  );
}

/** What users of other agents wait minutes for, said once it is known. */
function Reused({ t }: { t: Task }) {
  const timeline = useTimeline(t.id, t.status);
  const env = timeline.data?.stages?.find((x) => x.name === 'environment' && x.detail === 'reused');
  const ms = env ? parseTime(env.ended) - parseTime(env.started) : NaN;
  if (!Number.isFinite(ms)) return null;
  return (
    <>
      <span className="sp" />
      <span className="reused hide-s">
        <IconBolt size={14} stroke={1.8} />
        Environment reused, {formatDuration(ms)}
      </span>
    </>
  );
}

/** Previous and next task of the list this one was opened from, staying on the same tab. */
function Pager({ id, tab }: { id: string; tab: Tab }) {
  const w = walkAt(id);
  if (!w) return null;
  const go = (p: Place | null): void => {
    if (p) navigate(taskPath(p.project, p.id, tab));
  };
  return (
    <span className="pager hide-s">
      <IconBtn label="Previous task  [" disabled={!w.prev} onClick={() => go(w.prev)}>
        <IconChevronLeft {...I} />
      </IconBtn>
      <span className="num-s">
        {w.at} of {w.of}
      </span>
      <IconBtn label="Next task  ]" disabled={!w.next} onClick={() => go(w.next)}>
        <IconChevronRight {...I} />
      </IconBtn>
    </span>
  );
}

export function TaskHead({ task: t, tab }: { task: Task; tab: Tab }) {
  const main = mainAction(t);
  const rest = (
    ['enqueue', 'dequeue', 'abort', 'reset', 'publish', isArchived(t) ? 'unarchive' : 'archive', 'delete'] as ActionName[]
  ).filter((a) => a !== main);
  return (
    <>
      <div className="row1">
        <Dot c={colorSlot(t.id)} />
        <h1 title={t.name} dir="auto">
          <Mid>{t.name || t.id}</Mid>
        </h1>
        <Copyable text={t.id} shown={shortId(t.id)} />
        <span className="tags">
          {(t.tags ?? []).slice(0, 4).map((g) => (
            <Tag key={g}>{g}</Tag>
          ))}
          {(t.tags?.length ?? 0) > 4 && (
            <span className="more" title={t.tags?.slice(4).join(', ')}>
              +{(t.tags?.length ?? 0) - 4}
            </span>
          )}
        </span>
        <span className="sp" />
        <div className="acts">
          <Pager id={t.id} tab={tab} />
          <Button leftSection={ICONS.clone} onClick={() => start('clone', t)}>
            Clone
          </Button>
          {main && (
            <Button
              className={main === 'abort' ? 'danger' : ''}
              variant={main === 'enqueue' ? 'filled' : 'default'}
              leftSection={ICONS[main]}
              disabled={refusal(main, t) !== null}
              onClick={() => start(main, t)}
            >
              {RULES[main].label}
            </Button>
          )}
          <PopMenu position="bottom-end" width={220}>
            <Menu.Target>
              <IconBtn label="More actions">
                <IconDots {...I} />
              </IconBtn>
            </Menu.Target>
            <Menu.Dropdown>
              {rest.map((a) => {
                const no = refusal(a, t);
                return (
                  <Menu.Item
                    key={a}
                    className={a === 'delete' ? 'danger' : ''}
                    leftSection={ICONS[a]}
                    disabled={no !== null}
                    title={no ?? undefined}
                    onClick={() => start(a, t)}
                  >
                    {RULES[a].label}
                  </Menu.Item>
                );
              })}
            </Menu.Dropdown>
          </PopMenu>
        </div>
      </div>
      <Facts t={t} />
    </>
  );
}

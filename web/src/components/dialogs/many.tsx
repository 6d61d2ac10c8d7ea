// What dialogs say while many tasks are worked on, and of those that were refused.
import type { Refused } from '../../api/actions';
import type { Task } from '../../api/types';
import { formatCount } from '../../lib/format';
import { toast } from '../toast';

/** How far it is; silent for what one call does. */
export function Progress({ done, of }: { done: number | null; of: number }) {
  return (
    <span className="dprog num-s" role="status">
      {done !== null && of > 100 ? `${formatCount(done)} of ${formatCount(of)}` : ''}
    </span>
  );
}

/** One message for all: a name and its reason, and how many more. */
export function tellRefused(refused: Refused[], tasks: Task[], what: string): void {
  const first = refused[0];
  if (!first) return;
  const name = tasks.find((t) => t.id === first.id)?.name ?? first.id;
  toast(
    refused.length === 1
      ? `${name} was ${what}: ${first.why}`
      : `${formatCount(refused.length)} tasks were ${what}. First ${name}: ${first.why}`,
    'bad',
  );
}

// The dialogs of tasks: clone with overrides, enqueue, tags, and "are you sure" with what will happen.
import { CloneDialog } from './clone';
import { ConfirmDialog } from './confirm';
import { EnqueueDialog } from './enqueue';
import { showDialog, type Dialog } from './store';
import { TagsDialog } from './tags';
import './dialogs.css';

export default function Dialogs({ dialog: d }: { dialog: Dialog }) {
  const close = (): void => showDialog(null);
  if (d.kind === 'clone') return <CloneDialog task={d.task} close={close} />;
  if (d.kind === 'enqueue') return <EnqueueDialog tasks={d.tasks} close={close} />;
  if (d.kind === 'tags') return <TagsDialog tasks={d.tasks} close={close} />;
  return <ConfirmDialog action={d.action} tasks={d.tasks} close={close} after={d.after} />;
}

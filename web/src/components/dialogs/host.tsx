// Shows the open dialog; the dialogs themselves come in a chunk of their own on first use.
import { lazy, Suspense, useSyncExternalStore } from 'react';
import { currentDialog, subscribeDialog } from './store';

const Dialogs = lazy(() => import('./dialogs'));

export function DialogHost() {
  const d = useSyncExternalStore(subscribeDialog, currentDialog);
  return d ? (
    <Suspense fallback={null}>
      <Dialogs dialog={d} />
    </Suspense>
  ) : null;
}

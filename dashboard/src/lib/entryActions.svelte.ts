// What can be done with the entry that is open, so that the search over everything offers it, too.
import type { IconName } from '../components/icons';

export interface EntryAction {
  key: string;
  icon: IconName;
  text: string;
  run: () => void;
}

const none = (): EntryAction[] => [];

class EntryActions {
  list = $state.raw<EntryAction[]>([]);
  /** The actions of the field that had the focus last. */
  ofField = $state.raw<() => EntryAction[]>(none);

  /** Forgets the field, if no other one had the focus since. */
  leaveField(actions: () => EntryAction[]): void {
    if (this.ofField === actions) this.ofField = none;
  }
}

export const entryActions = new EntryActions();

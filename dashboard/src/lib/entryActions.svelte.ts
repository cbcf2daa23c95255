// What can be done with the entry that is open, so that the search over everything offers it, too.
import type { IconName } from '../components/icons';

export interface EntryAction {
  key: string;
  icon: IconName;
  text: string;
  run: () => void;
}

class EntryActions {
  list = $state.raw<EntryAction[]>([]);
}

export const entryActions = new EntryActions();

// Reads the folder of a library from the conditions of its list, where it is a condition like any other.
import type { Condition } from '../lib/list';
import { FOLDER } from '../lib/media';

/** The folder that every group of conditions asks for, or null. */
export function folderOf(groups: Condition[][]): string | null {
  const found = groups.map((group) => group.find((one) => one.field === FOLDER && one.op === 'eq')?.value);
  return found[0] !== undefined && found.every((one) => one === found[0]) ? found[0] : null;
}

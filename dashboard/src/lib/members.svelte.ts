// The members' names, for fields of type `user`. A role that may not read them sees their numbers.
import { get } from './api';
import type { Member } from './types';

class Members {
  all = $state<Member[]>([]);
  /** False if the role may not list them. */
  readable = $state(true);
  private asked = false;

  async load(again = false): Promise<void> {
    if (this.asked && !again) return;
    this.asked = true;
    try {
      this.all = (await get<{ data: Member[] }>('/v2/members')).data;
    } catch {
      this.readable = false;
    }
  }

  nameOf(id: number): string {
    if (!this.asked) queueMicrotask(() => void this.load());
    return this.all.find((member) => member.id === id)?.name ?? `#${id}`;
  }
}

export const members = new Members();

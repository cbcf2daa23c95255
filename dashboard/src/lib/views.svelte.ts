// Views of tables that members saved. The server keeps them, so that they are there in every browser and can be shared.
import { get, patch, post, remove } from './api';
import { session } from './session.svelte';
import { showError } from './toasts.svelte';
import type { View } from './types';

/** Where earlier versions kept the views of a blueprint: in the browser. */
const keyOf = (blueprint: string): string => `bindery.views.${session.member?.id ?? 0}/${blueprint}`;

/** The blueprints whose views are being handed over, so that a menu that is opened again does not do it twice. */
const adopting = new Set<string>();

export class Views {
  all = $state.raw<View[]>([]);

  constructor(private readonly blueprint: string) {
    void this.begin();
  }

  private async begin(): Promise<void> {
    try {
      await this.load();
      if (await this.adopt()) await this.load();
    } catch (error) {
      showError(error);
    }
  }

  private async load(): Promise<void> {
    this.all = (await get<{ data: View[] }>(`/v2/views?blueprint=${this.blueprint}`)).data;
  }

  /** Hands over to the server what this browser still keeps. Each view leaves the browser once the server has it. */
  private async adopt(): Promise<boolean> {
    const key = keyOf(this.blueprint);
    const kept = adopting.has(key) ? [] : keptViews(key);
    if (kept.length === 0) return false;
    adopting.add(key);
    for (let left = kept; left.length > 0; left = left.slice(1)) {
      const { name, query } = left[0]!;
      const isThere = this.all.some((view) => view.owner.id === session.member?.id && view.name === name && view.query === query);
      if (!isThere) await post('/v2/views', { blueprint: this.blueprint, name, query });
      localStorage.setItem(key, JSON.stringify(left.slice(1)));
    }
    localStorage.removeItem(key);
    return true;
  }

  /** Saves a view, in the place of one's own view of that name. */
  async save(name: string, query: string, shared: boolean): Promise<boolean> {
    const same = this.all.find((view) => view.name === name && view.owner.id === session.member?.id);
    return this.attempt(() =>
      same ? patch(`/v2/views/${same.id}`, { query, shared }) : post('/v2/views', { blueprint: this.blueprint, name, query, shared }),
    );
  }

  drop(view: View): Promise<boolean> {
    return this.attempt(() => remove(`/v2/views/${view.id}`));
  }

  private async attempt(action: () => Promise<unknown>): Promise<boolean> {
    try {
      await action();
      await this.load();
      return true;
    } catch (error) {
      showError(error);
      return false;
    }
  }
}

/** Those that have a name and a query: a browser's storage may hold anything. */
function keptViews(key: string): { name: string; query: string }[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(key) ?? '[]');
    const isView = (one: Partial<View> | null): boolean => !!one?.name && one.name.length <= 255 && typeof one.query === 'string';
    return Array.isArray(kept) ? (kept as View[]).filter(isView) : [];
  } catch {
    return [];
  }
}

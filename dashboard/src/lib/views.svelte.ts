// Views of tables that a member saved. They are kept in this browser.
import { session } from './session.svelte';

export interface View {
  name: string;
  query: string;
}

const keyOf = (blueprint: string): string => `bindery.views.${session.member?.id ?? 0}/${blueprint}`;

export function readViews(blueprint: string): View[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(keyOf(blueprint)) ?? '[]');
    return Array.isArray(kept) ? (kept as View[]) : [];
  } catch {
    return [];
  }
}

export function keepViews(blueprint: string, views: View[]): void {
  localStorage.setItem(keyOf(blueprint), JSON.stringify(views));
}

// What a content table shows: follows the address, keeps the rows that are shown until the next ones are there, and cancels
// requests whose answers are no longer wanted.
import { aborted } from './api';
import { fieldOf, hasCopies, titleField } from './blueprints.svelte';
import { forget, page as fetchPage, peek, prefetch } from './pages';
import { filtersEdited, formatList, nextSort, parseList, requestOf, sortOf, SYSTEM_COLUMNS, usualColumns, withoutEdited, type ListState } from './list';
import { route } from './router.svelte';
import { explain } from './toasts.svelte';
import { askTitles, remember, rememberIncluded } from './titles.svelte';
import type { Blueprint, ListAnswer, WorkingCopy } from './types';
import { display } from './values';

/** How long nobody must have typed before the page behind the first one of a search is fetched. */
const AHEAD_MS = 700;

const isColumn = (name: string): boolean => (SYSTEM_COLUMNS as readonly string[]).includes(name);

export class Listing {
  readonly blueprint: Blueprint;
  /** Attributes that are asked for beside the columns. */
  private readonly also: string[];
  state = $state() as ListState;
  answer = $state.raw<ListAnswer | null>(null);
  /** In a table of what the site shows: the working copies of its entries, by id. */
  edits = $state.raw<ReadonlyMap<string, WorkingCopy>>(new Map());
  fault = $state('');
  waiting = $state(false);
  private stop: AbortController | null = null;
  private later: ReturnType<typeof setTimeout> | undefined;
  private shown = '';

  constructor(blueprint: Blueprint, also: string[] = []) {
    this.blueprint = blueprint;
    this.also = also;
    this.state = this.allowed(parseList(route.query));
  }

  /** An address or a view may be older than the blueprint's fields and settings, or come from somebody with other rights. */
  private allowed(state: ListState): ListState {
    const working = state.working && hasCopies(this.blueprint);
    const variant = this.blueprint.variants.some((one) => one.slug === state.variant) ? state.variant : null;
    const sort = state.sort.filter((key) => isColumn(key.replace(/^-/, '')) || fieldOf(this.blueprint, key.replace(/^-|\..*/g, '')));
    return { ...state, working, variant, sort, groups: working || !filtersEdited(this.blueprint) ? state.groups : withoutEdited(state.groups) };
  }

  get title() {
    return titleField(this.blueprint);
  }

  get columns(): string[] {
    const chosen = this.state.columns?.filter((column) => isColumn(column) || fieldOf(this.blueprint, column));
    return chosen && chosen.length > 0 ? chosen : usualColumns(this.blueprint, this.title?.slug);
  }

  get sort(): string[] {
    return sortOf(this.state);
  }

  /** A click on a column. */
  sortBy(column: string, add: boolean): void {
    this.change({ sort: nextSort(this.sort, column, add, sortOf({ ...this.state, sort: [] })) });
  }

  /** Changes what is shown. Anything but the page itself goes back to the first page. */
  change(part: Partial<ListState>, how: 'push' | 'replace' = 'push'): void {
    this.state = this.allowed({ ...this.state, page: 1, ...part });
    route.go(`${location.pathname}${formatList(this.state)}`, how);
    void this.load();
  }

  /** The address changed by going back or forward. One that is only written in another way changes nothing. */
  follow(query: string): void {
    const wanted = this.allowed(parseList(query));
    if (formatList(wanted) === formatList(this.state)) return;
    this.state = wanted;
    void this.load();
  }

  async load(): Promise<void> {
    const url = this.urlOf(this.state.page);
    this.stop?.abort();
    clearTimeout(this.later);
    const stop = (this.stop = new AbortController());
    const ready = peek(url);
    if (ready) this.show(ready, url);
    this.waiting = !ready;
    try {
      const answer = await fetchPage(url, stop.signal);
      if (stop.signal.aborted) return;
      this.fault = '';
      this.show(answer, url);
      this.waiting = false;
      // The last page may be gone with its entries.
      const { total, last_page: last } = answer.meta;
      if (answer.data.length === 0 && total > 0 && this.state.page > last) return this.change({ page: last }, 'replace');
      const mayBeTyping = this.state.search !== '' && this.state.page === 1;
      this.later = setTimeout(() => (this.ahead(answer), void this.findEdits(answer, stop.signal)), mayBeTyping ? AHEAD_MS : 0);
    } catch (error) {
      if (aborted(error) || stop.signal.aborted) return;
      this.waiting = false;
      this.fault = explain(error);
    }
  }

  /** What the site shows says nothing of working copies. The table says which entries have one. */
  private async findEdits(answer: ListAnswer, signal: AbortSignal): Promise<void> {
    if (this.state.working || answer.data.length === 0 || !hasCopies(this.blueprint) || !filtersEdited(this.blueprint)) return;
    const { variant } = this.state;
    const query = new URLSearchParams({ 'filter[id][in]': answer.data.map((one) => one.id).join(','), 'filter[working_copy]': 'true', copy: 'working', per_page: '100', fields: 'id', ...(variant ? { variant } : {}) });
    // Without these marks the table says less, but nothing that is wrong.
    const found = await fetchPage(`/v2/resources/${this.blueprint.slug}?${query}`, signal).catch(() => null);
    if (found && !signal.aborted) this.edits = new Map(found.data.flatMap((one) => (one.working_copy ? [[one.id, one.working_copy] as const] : [])));
  }

  /** After a write: asks again. */
  async reload(): Promise<void> {
    forget();
    await this.load();
  }

  private urlOf(page: number): string {
    const title = this.title?.slug;
    const columns = [...new Set([...(title ? [title] : []), ...this.columns, ...this.also])];
    const [path, query] = requestOf(this.blueprint, this.state, columns, page).split('?');
    const parameters = new URLSearchParams(query);
    askTitles(parameters, columns.map((column) => fieldOf(this.blueprint, column)));
    return `${path}?${parameters}`;
  }

  private show(answer: ListAnswer, url: string): void {
    rememberIncluded(answer.included);
    this.answer = answer;
    if (this.shown === url) return;
    this.shown = url;
    const field = this.title;
    if (field) for (const one of answer.data) remember(this.blueprint.slug, one.id, display(field, one.attributes?.[field.slug]) || one.id.slice(0, 8));
  }

  private ahead(answer: ListAnswer): void {
    const { current_page: current, last_page: last } = answer.meta;
    if (current < last) prefetch(this.urlOf(current + 1));
    if (current > 1) prefetch(this.urlOf(current - 1));
  }
}

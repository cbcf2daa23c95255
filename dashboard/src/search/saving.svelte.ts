// Stores what a dialog on synonyms or rules holds, and keeps what the server rejects. It must not know what that is.

import { tick } from 'svelte';
import { ApiError, post, put } from '../lib/api';
import { explain } from '../lib/toasts.svelte';

export class Saving {
  /** What is wrong, if it belongs to no input. */
  fault = $state('');
  /** What is wrong at inputs, by the names of the fields. */
  errors = $state.raw<Record<string, string[]>>({});
  busy = $state(false);

  /** Stores a new entry, or one that has an id. Returns whether the server accepted it; if not, the first wrong input gets the focus. */
  async save(kind: 'synonyms' | 'rules', id: string | undefined, body: object): Promise<boolean> {
    [this.fault, this.errors, this.busy] = ['', {}, true];
    try {
      if (id) await put(`/v2/search/${kind}/${id}`, body);
      else await post(`/v2/search/${kind}`, body);
      return true;
    } catch (error) {
      if (error instanceof ApiError) this.errors = error.fields;
      if (Object.keys(this.errors).length === 0) this.fault = explain(error);
      await tick();
      document.querySelector<HTMLElement>('dialog [aria-invalid=true]')?.focus();
      return false;
    } finally {
      this.busy = false;
    }
  }
}

// Stores what a dialog holds, and keeps what the server rejects, for its inputs. It must not know what that is.
import { tick } from 'svelte';
import { ApiError } from './api';
import { explain } from './toasts.svelte';

export class Saving {
  /** What is wrong, if it belongs to no input. */
  fault = $state('');
  /** What is wrong at inputs, by the names of the fields. */
  errors = $state.raw<Record<string, string[]>>({});
  /** A second click while the first is on its way would store a second one. */
  busy = $state(false);

  /** The messages about a key of the body, or about an entry of its list. */
  at = (key: string): string[] => Object.entries(this.errors).filter(([name]) => name === key || name.startsWith(`${key}.`)).flatMap(([, texts]) => texts);

  clear(): void {
    [this.fault, this.errors] = ['', {}];
  }

  /** Says what is wrong at inputs, and puts the focus into the first of them. Returns false if no input shows it. */
  async refuse(errors: Record<string, string[]>): Promise<boolean> {
    this.errors = errors;
    await tick();
    const wrong = document.querySelector<HTMLElement>('dialog [aria-invalid=true]');
    wrong?.focus();
    return wrong !== null;
  }

  /** Runs what stores it. Returns whether the server accepted it. */
  async run(store: () => Promise<unknown>): Promise<boolean> {
    if (this.busy) return false;
    this.clear();
    this.busy = true;
    try {
      await store();
      return true;
    } catch (error) {
      if (!(await this.refuse(error instanceof ApiError ? error.fields : {}))) this.fault = explain(error);
      return false;
    } finally {
      this.busy = false;
    }
  }
}

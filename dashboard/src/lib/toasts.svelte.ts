// Short messages about what was done, at the edge of the screen and read out by screen readers.
import { ApiError } from './api';
import { refusal } from './faults';
import { t } from './i18n.svelte';

export interface Toast {
  id: number;
  text: string;
  tone: 'good' | 'bad' | 'plain';
  action?: { label: string; run: () => void } | undefined;
  about?: About | undefined;
}

/** The entries that a message is about. */
export interface About {
  /** Each as `BLUEPRINT/ID`. A newer message about one of them replaces the older one, which no longer describes it. */
  entries: string[];
  /** The title, if it is one entry. */
  name?: string;
  /** The open form that the button of the message works on, which goes with the form. */
  form?: object;
}

const SHORT_MS = 5000;
const BAD_MS = 10_000;
/** Long enough to find the button with the keyboard, or to look at what was done. */
const ACTION_MS = 20_000;

let next = 1;

class Toasts {
  list = $state<Toast[]>([]);
  private readonly timers = new Map<number, ReturnType<typeof setTimeout>>();

  show(text: string, tone: Toast['tone'] = 'good', action?: Toast['action'], about?: About): void {
    const toast: Toast = { id: next++, text, tone, action, about };
    this.closeWhere((one) => one.about?.entries.some((entry) => about?.entries.includes(entry)));
    this.list = [...this.list.slice(-3), toast];
    this.release(toast);
  }

  /** The form is left: buttons that work on it would no longer do what they say. */
  leave(form: object): void {
    this.closeWhere((one) => one.action && one.about?.form === form);
  }

  private closeWhere(outdated: (toast: Toast) => unknown): void {
    for (const one of this.list.filter(outdated)) this.close(one.id);
  }

  /** Shows what is being done until it is done. The browser asks before the page is left, which would stop it halfway. */
  async during<T>(text: string, work: Promise<T>): Promise<T> {
    const leave = (event: Event): void => event.preventDefault();
    addEventListener('beforeunload', leave);
    const toast: Toast = { id: next++, text, tone: 'plain' };
    this.list = [...this.list.slice(-3), toast];
    return work.finally(() => {
      removeEventListener('beforeunload', leave);
      this.close(toast.id);
    });
  }

  /** A message that somebody points at, or whose button has the focus, stays. */
  hold(toast: Toast): void {
    clearTimeout(this.timers.get(toast.id));
    this.timers.delete(toast.id);
  }

  release(toast: Toast): void {
    this.hold(toast);
    this.timers.set(toast.id, setTimeout(() => this.close(toast.id), toast.action ? ACTION_MS : toast.tone === 'bad' ? BAD_MS : SHORT_MS));
  }

  close(id: number): void {
    this.list = this.list.filter((toast) => toast.id !== id);
    clearTimeout(this.timers.get(id));
    this.timers.delete(id);
  }
}

export const toasts = new Toasts();

/** What an error says to the person. */
export function explain(error: unknown): string {
  if (!(error instanceof ApiError)) return t('error.unknown');
  if (error.offline) return t('error.offline');
  if (error.status === 403) return t('error.forbidden');
  // The server lists every type that it accepts, which is more than somebody reads here.
  if (error.status === 415) return t('error.type');
  if (error.status === 429) return t('error.slow', { count: error.retryAfter ?? 60 });
  const [field, texts] = Object.entries(error.fields)[0] ?? [];
  // The fault of an upload stands beside its name.
  if (field && texts?.[0]) return field === 'file' ? texts[0] : `${field}: ${texts[0]}`;
  return refusal(error) || t('error.unknown');
}

export function showError(error: unknown): void {
  toasts.show(explain(error), 'bad');
}

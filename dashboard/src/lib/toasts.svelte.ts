// Short messages about what was done, at the edge of the screen and read out by screen readers.
import { ApiError } from './api';
import { codeText } from './faults';
import { locale, t } from './i18n.svelte';

export interface Toast {
  id: number;
  text: string;
  tone: 'good' | 'bad' | 'plain';
  action?: { label: string; run: () => void } | undefined;
}

let next = 1;

class Toasts {
  list = $state<Toast[]>([]);

  show(text: string, tone: Toast['tone'] = 'good', action?: Toast['action']): void {
    const toast: Toast = { id: next++, text, tone, action };
    this.list = [...this.list.slice(-3), toast];
    setTimeout(() => this.close(toast.id), tone === 'bad' || action ? 10_000 : 5000);
  }

  close(id: number): void {
    this.list = this.list.filter((toast) => toast.id !== id);
  }
}

export const toasts = new Toasts();

/** What an error says to the person. */
export function explain(error: unknown): string {
  if (!(error instanceof ApiError)) return t('error.unknown');
  if (error.offline) return t('error.offline');
  if (error.status === 403) return t('error.forbidden');
  if (error.status === 429) return t('error.slow', { count: error.retryAfter ?? 60 });
  const [field, texts] = Object.entries(error.fields)[0] ?? [];
  if (field && texts?.[0]) return `${field}: ${texts[0]}`;
  return (locale.language === 'en' ? error.message : codeText(error.code)) || error.message || t('error.unknown');
}

export function showError(error: unknown): void {
  toasts.show(explain(error), 'bad');
}

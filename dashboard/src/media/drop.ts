// Takes files that are dropped on an element, or pasted while it is shown.
import { filesOf } from '../lib/uploads.svelte';

interface Options {
  take: (files: File[]) => void;
  /** Is told when files are over the element. */
  over?: (is: boolean) => void;
  /** Pasted files are taken wherever the focus is, except in an input. */
  paste?: boolean;
  disabled?: boolean;
}

export const hasFiles = (event: DragEvent): boolean => [...(event.dataTransfer?.types ?? [])].includes('Files');

export function takesFiles(element: HTMLElement, options: Options) {
  let current = options;
  let depth = 0;

  function enter(event: DragEvent) {
    if (current.disabled || !hasFiles(event)) return;
    event.preventDefault();
    depth += 1;
    current.over?.(true);
  }
  function leave(event: DragEvent) {
    if (current.disabled || !hasFiles(event)) return;
    depth -= 1;
    if (depth <= 0) end();
  }
  function end() {
    depth = 0;
    current.over?.(false);
  }
  function over(event: DragEvent) {
    if (!current.disabled && hasFiles(event)) event.preventDefault();
  }
  function drop(event: DragEvent) {
    if (current.disabled || !hasFiles(event)) return;
    event.preventDefault();
    event.stopPropagation();
    end();
    const files = filesOf(event.dataTransfer);
    if (files.length > 0) current.take(files);
  }
  function paste(event: ClipboardEvent) {
    const target = event.target as HTMLElement | null;
    if (current.disabled || !current.paste || target?.closest?.('[contenteditable=true]')) return;
    // A dialog above takes what is pasted while it is open.
    const dialog = [...document.querySelectorAll('dialog[open]')].at(-1);
    if (dialog && !dialog.contains(element)) return;
    const files = filesOf(event.clipboardData);
    if (files.length === 0) return;
    event.preventDefault();
    current.take(files);
  }

  const listeners: [string, (event: never) => void][] = [['dragenter', enter], ['dragleave', leave], ['dragover', over], ['drop', drop]];
  for (const [name, listener] of listeners) element.addEventListener(name, listener as EventListener);
  addEventListener('paste', paste);
  return {
    update: (next: Options) => void (current = next),
    destroy() {
      for (const [name, listener] of listeners) element.removeEventListener(name, listener as EventListener);
      removeEventListener('paste', paste);
    },
  };
}

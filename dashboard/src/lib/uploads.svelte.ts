// Files on their way to the server: some at a time, with progress, and again after a failure. They go on when the screen changes.
import { aborted, ApiError, sendForm } from './api';
import { t } from './i18n.svelte';
import { isUnusual, textOf } from './media';
import { refresh } from './pages';
import { session } from './session.svelte';
import { explain, toasts } from './toasts.svelte';
import type { Attributes, Resource } from './types';

type State = 'waiting' | 'sending' | 'done' | 'failed' | 'stopped';

/** Sends at most this many at once: more would share the same line. */
const AT_ONCE = 2;

/** Statuses that the same file gets again. After others, and without an answer, another attempt may succeed. */
const FINAL = [400, 403, 404, 413, 415, 422];

let next = 1;

export class Upload {
  readonly id = next++;
  readonly file: File;
  readonly blueprint: string;
  readonly attributes: Attributes;
  /** The open form keeps a place for the file. */
  awaited = $state(false);
  state = $state<State>('waiting');
  /** The part that was sent, from 0 to 1. */
  sent = $state(0);
  fault = $state('');
  /** It failed, and sending it again may help. */
  retriable = $state(false);
  resource = $state.raw<Resource | null>(null);
  /** Sending again after a lost answer must not store it twice. */
  readonly key = `upload-${Date.now()}-${Math.random().toString(36).slice(2)}`;
  /** Who may publish expects to see on the site what is uploaded for it. The same in each attempt, as the key demands. */
  private readonly publishedAt = session.can('publish') ? new Date().toISOString() : null;
  readonly stop = new AbortController();
  private settle: (resource: Resource | null) => void = () => {};
  private fail: () => void = () => {};
  /** An attempt failed. Another one may succeed. */
  readonly failing = new Promise<void>((resolve) => (this.fail = resolve));
  /** The resource, or null if the upload was given up. */
  readonly finished = new Promise<Resource | null>((resolve) => (this.settle = resolve));

  constructor(file: File, blueprint: string, attributes: Attributes) {
    this.file = file;
    this.blueprint = blueprint;
    this.attributes = attributes;
  }

  async send(): Promise<void> {
    this.state = 'sending';
    this.sent = 0;
    this.fault = '';
    const form = new FormData();
    // Parts before the file: the server reads them in order.
    if (Object.keys(this.attributes).length > 0) form.append('attributes', JSON.stringify(this.attributes));
    if (this.publishedAt) form.append('published_at', this.publishedAt);
    form.append('file', this.file, this.file.name);
    try {
      const { body } = await sendForm<{ data: Resource }>('POST', `/v2/media/${this.blueprint}`, form, {
        headers: { 'idempotency-key': this.key }, signal: this.stop.signal, progress: (part) => (this.sent = part),
      });
      this.resource = body.data;
      this.state = 'done';
      this.settle(body.data);
      if (isUnusual(textOf(body.data.attributes, 'mime'))) toasts.show(`${this.file.name}: ${t('media.unusual')}`, 'bad');
      refresh();
    } catch (error) {
      if (aborted(error)) return this.giveUp();
      this.fault = explain(error);
      this.retriable = !(error instanceof ApiError && FINAL.includes(error.status));
      this.state = 'failed';
      this.fail();
    }
  }

  giveUp(): void {
    this.state = 'stopped';
    this.stop.abort();
    this.settle(null);
  }
}

class Uploads {
  list = $state<Upload[]>([]);

  add(blueprint: string, files: Iterable<File>, attributes: Attributes = {}): Upload[] {
    const added = [...files].map((file) => new Upload(file, blueprint, attributes));
    this.list = [...this.list, ...added];
    this.pump();
    return added;
  }

  /** For a place in the open form. */
  addToForm(blueprint: string, files: Iterable<File>): Upload[] {
    const added = this.add(blueprint, files);
    for (const one of added) one.awaited = true;
    return added;
  }

  of(blueprint: string): Upload[] {
    return this.list.filter((one) => one.blueprint === blueprint);
  }

  retry(upload: Upload): void {
    upload.state = 'waiting';
    this.pump();
  }

  /** Files that the open form is still going to get. One that failed waits for somebody. */
  get awaited(): Upload[] {
    return this.list.filter((one) => one.awaited && one.state !== 'failed');
  }

  /** Waits until the form has its files. Returns false if it does not get one of them because its upload failed. */
  async arrive(): Promise<boolean> {
    const awaited = this.awaited;
    let stop = (): void => {};
    await new Promise<void>((resolve) => {
      stop = $effect.root(() => {
        $effect(() => {
          if (this.awaited.length === 0) resolve();
        });
      });
    });
    stop();
    return awaited.every((one) => one.state !== 'failed');
  }

  /** Stops an upload, or forgets one that has ended. */
  drop(upload: Upload): void {
    if (upload.state !== 'done') upload.giveUp();
    this.list = this.list.filter((one) => one.id !== upload.id);
    this.pump();
  }

  forgetDone(): void {
    this.list = this.list.filter((one) => one.state !== 'done');
  }

  get busy(): boolean {
    return this.list.some((one) => one.state === 'waiting' || one.state === 'sending');
  }

  private pump(): void {
    const sending = this.list.filter((one) => one.state === 'sending').length;
    for (const upload of this.list.filter((one) => one.state === 'waiting').slice(0, Math.max(0, AT_ONCE - sending))) {
      void upload.send().then(() => this.pump());
    }
  }
}

export const uploads = new Uploads();

// The browser asks before a tab with unfinished uploads is closed.
addEventListener('beforeunload', (event) => uploads.busy && event.preventDefault());

/** The files in what was dropped or pasted. */
export const filesOf = (data: DataTransfer | null | undefined): File[] => [...(data?.files ?? [])];

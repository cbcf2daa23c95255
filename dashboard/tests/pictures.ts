// Real pictures for tests: PNG from bytes, and files as a page gets them by dropping or pasting.
import { crc32, deflateSync } from 'node:zlib';
import type { Locator, Page } from 'playwright-core';
import { api, TOKEN, URL_BASE } from './browser';

export interface Sent {
  name: string;
  mimeType: string;
  buffer: Buffer;
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

/** A picture with a bright square in one place, so that no two of other colours are the same file. */
export function png(name: string, width: number, height: number, [red, green, blue]: [number, number, number]): Sent {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2, 0, 0, 0], 8);
  const rows = Buffer.alloc(height * (1 + width * 3));
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const bright = x > width * 0.7 && x < width * 0.9 && y > height * 0.1 && y < height * 0.4;
      rows.set(bright ? [255, 240, 160] : [(red * (height - y)) / height, green, (blue * x) / width], y * (1 + width * 3) + 1 + x * 3);
    }
  }
  const buffer = Buffer.concat([Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]), chunk('IHDR', header), chunk('IDAT', deflateSync(rows)), chunk('IEND', Buffer.alloc(0))]);
  return { name, mimeType: 'image/png', buffer };
}

/** A JPEG, as the browser makes it. */
export async function jpeg(page: Page, name: string, width: number, height: number, colour: string): Promise<Sent> {
  const base64 = await page.evaluate(([wide, high, fill]) => {
    const canvas = document.createElement('canvas');
    [canvas.width, canvas.height] = [wide as number, high as number];
    const context = canvas.getContext('2d')!;
    context.fillStyle = fill as string;
    context.fillRect(0, 0, wide as number, high as number);
    context.fillStyle = '#fff';
    context.fillRect(4, 4, (wide as number) / 4, (high as number) / 4);
    return canvas.toDataURL('image/jpeg').split(',')[1]!;
  }, [width, height, colour]);
  return { name, mimeType: 'image/jpeg', buffer: Buffer.from(base64, 'base64') };
}

/** Drops files on an element, or pastes them there, as the system would. */
export async function give(target: Locator, how: 'drop' | 'paste', files: Sent[]): Promise<void> {
  const sent = files.map(({ name, mimeType, buffer }) => ({ name, mimeType, base64: buffer.toString('base64') }));
  await target.evaluate((element, [all, kind]) => {
    const data = new DataTransfer();
    for (const { name, mimeType, base64 } of all as { name: string; mimeType: string; base64: string }[]) {
      data.items.add(new File([Uint8Array.from(atob(base64), (one) => one.charCodeAt(0))], name, { type: mimeType }));
    }
    const box = element.getBoundingClientRect();
    const at = { clientX: box.left + box.width / 2, clientY: box.top + Math.min(20, box.height / 2), bubbles: true, cancelable: true };
    if (kind === 'paste') element.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
    else for (const name of ['dragenter', 'dragover', 'drop']) element.dispatchEvent(new DragEvent(name, { dataTransfer: data, ...at }));
  }, [sent, how] as const);
}

export const LIBRARY = 'media';

/** A library with folders and descriptions, unless the demonstration has one. */
export async function makeLibrary(): Promise<void> {
  if ((await api('GET', `/v2/blueprints/${LIBRARY}`)).status === 200) return;
  const fields = [
    { name: 'Alt text', slug: 'alt', type: 'text' }, { name: 'Caption', slug: 'caption', type: 'text' },
    { name: 'Folder', slug: 'folder', type: 'enum', settings: { values: null } },
  ];
  const variants = [{ name: 'English', slug: 'en', default: true }, { name: 'Deutsch', slug: 'de', default: false }];
  const made = await api('POST', '/v2/blueprints', { name: 'Media', slug: LIBRARY, kind: 'media', icon: 'image', record_title: 'file_name', variants, fields });
  if (made.status !== 201) throw new Error(JSON.stringify(made.body));
}

export interface Stored {
  id: string;
  published_at: string | null;
  attributes: Record<string, string & number>;
}

/** Uploads through the API, as a site would. */
export async function uploaded(sent: Sent, attributes: Record<string, unknown> = {}, publishedAt: string | null = '2026-01-01T00:00:00Z'): Promise<Stored> {
  const form = new FormData();
  form.append('attributes', JSON.stringify(attributes));
  if (publishedAt) form.append('published_at', publishedAt);
  form.append('file', new Blob([new Uint8Array(sent.buffer)], { type: sent.mimeType }), sent.name);
  const answer = await fetch(`${URL_BASE}/v2/media/${LIBRARY}`, { method: 'POST', headers: { authorization: `Bearer ${TOKEN}` }, body: form });
  const text = await answer.text();
  if (answer.status !== 201) throw new Error(text);
  return (JSON.parse(text) as { data: Stored }).data;
}

/** The address of a file as the dashboard writes it into values: without the version, which another file would not have. */
export const lasting = ({ attributes }: Stored): string => String(attributes.url).split('?')[0]!;

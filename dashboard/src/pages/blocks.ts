// The blocks of the page builder and the HTML that they make. A block is an object in the value's `blocks`, with its type and
// the texts of its parts, so that a site may also draw blocks in its own way.
import type { Json } from '../lib/types';

export interface Block {
  type: string;
  [part: string]: Json;
}

export type PartKind = 'line' | 'text' | 'address' | 'lines';

export interface Part {
  name: string;
  kind: PartKind;
}

const part = (name: string, kind: PartKind = 'line'): Part => ({ name, kind });

const KNOWN: Record<string, Part[]> = {
  hero: [part('heading'), part('text', 'text'), part('image', 'address'), part('alternative'), part('link_text'), part('link', 'address')],
  heading: [part('heading')],
  text: [part('heading'), part('text', 'text')],
  image: [part('image', 'address'), part('alternative'), part('caption')],
  quote: [part('text', 'text'), part('source')],
  list: [part('heading'), part('items', 'lines')],
  columns: [part('first', 'text'), part('second', 'text')],
  button: [part('link_text'), part('link', 'address')],
  gallery: [part('images', 'lines'), part('alternatives', 'lines')],
  divider: [],
};

/** Blocks that a blueprint allows without saying which. */
export const OFFERED = Object.keys(KNOWN);

/** The parts of a block; one that the dashboard does not know has those of a text, with an image and a link. */
export const partsOf = (type: string): Part[] => KNOWN[type] ?? [part('heading'), part('text', 'text'), part('image', 'address'), part('link_text'), part('link', 'address')];

/** The lines of a part. Empty ones count only where each line belongs to one of another part. */
export function linesOf(value: Json | undefined, dense = true): string[] {
  const lines = (typeof value === 'string' ? value : '').split('\n').map((one) => one.trim());
  return dense ? lines.filter(Boolean) : lines;
}

const escape = (text: string): string => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;');
const paragraphs = (text: string): string => text.split(/\n{2,}/).filter((one) => one.trim()).map((one) => `<p>${escape(one.trim()).replace(/\n/g, '<br>')}</p>`).join('');

function blockHtml(block: Block): string {
  const get = (name: string): string => (typeof block[name] === 'string' ? (block[name] as string) : '');
  const image = (address: string, alternative = ''): string => (address ? `<img src="${escape(address)}" alt="${escape(alternative)}">` : '');
  const link = get('link') ? `<p><a href="${escape(get('link'))}">${escape(get('link_text') || get('link'))}</a></p>` : '';
  const heading = (level: number): string => (get('heading') ? `<h${level}>${escape(get('heading'))}</h${level}>` : '');
  const lines = (name: string): string[] => linesOf(block[name]);
  switch (block.type) {
    case 'hero':
      return heading(1) + paragraphs(get('text')) + image(get('image'), get('alternative')) + link;
    case 'heading':
      return heading(2);
    case 'image':
      return `<figure>${image(get('image'), get('alternative'))}${get('caption') ? `<figcaption>${escape(get('caption'))}</figcaption>` : ''}</figure>`;
    case 'quote':
      return `<blockquote>${paragraphs(get('text'))}</blockquote>${get('source') ? `<p>${escape(get('source'))}</p>` : ''}`;
    case 'list':
      return `${heading(2)}<ul>${lines('items').map((one) => `<li>${escape(one)}</li>`).join('')}</ul>`;
    case 'columns':
      return `<div class="column">${paragraphs(get('first'))}</div><div class="column">${paragraphs(get('second'))}</div>`;
    case 'button':
      return link;
    case 'gallery':
      return lines('images').map((one, at) => image(one, linesOf(block.alternatives, false)[at])).join('');
    case 'divider':
      return '<hr>';
    default:
      return heading(2) + paragraphs(get('text')) + image(get('image')) + link;
  }
}

const className = (type: string): string => type.replace(/[^A-Za-z0-9_-]+/g, '-');

export const pageHtml = (blocks: Block[]): string => blocks.map((block) => `<section class="${className(block.type)}">${blockHtml(block)}</section>`).join('\n');

// HTML to the editor's document and back. Nothing is lost: a block that nobody touched is written with the bytes that it came with,
// and a block that the schema cannot hold is kept as HTML.
import { DOMParser as Reader, DOMSerializer, Fragment, type Node } from 'prosemirror-model';
import { parseHtml } from '../lib/inert';
import { divided, flat } from './chunks';
import { looksSame } from './outline';
import { HELD, openingTag, schema } from './schema';

const { chunk, kept, paragraph } = schema.nodes as Record<'chunk' | 'kept' | 'paragraph', Node['type']>;
const reader = Reader.fromSchema(schema);
const serializer = DOMSerializer.fromSchema(schema);
/** Elements of this document load nothing. */
const inert = document.implementation.createHTMLDocument('');

/**
 * Reads what the browser did by itself, such as joining two paragraphs: it wraps what it moved in elements for the look, which are
 * no part of the text.
 */
export const domReader = new Reader(schema, [
  { tag: 'span[style]', skip: true },
  { tag: 'span', skip: true, getAttrs: (element) => (element.attributes.length === 0 ? null : false) },
  ...reader.rules,
]);

/** The HTML that a block was read from, and the white space around it. A block that somebody changes is another object. */
interface Source {
  html: string;
  before: string;
  after: string;
}
const sources = new WeakMap<Node, Source>();

const BLOCKS = 'p, h1, h2, h3, h4, h5, h6, ul, ol, dl, blockquote, pre, table, hr, figure, details, div, iframe, video';
/** Elements that may have text beside blocks. */
const HOLDERS = 'li, td, th, dt, dd, blockquote, div, details, summary, figure, figcaption';
const SPACE = /^[ \t\r\n\f]*$/;
/** A part of a longer text is not searched for what can be edited in it. */
const LONGEST_SEARCHED = 100_000;

const isBlock = (node: ChildNode): boolean => node.nodeType === 1 && (node as Element).matches(`${BLOCKS}, li, dt, dd, summary, figcaption`);
const isSpace = (node: ChildNode): boolean => node.nodeType === 3 && SPACE.test(node.textContent ?? '');

export function readHtml(html: string): Node {
  const blocks = parts(parseHtml(html)).flatMap(readPart);
  return divided(chunk.create(null, blocks.length > 0 ? blocks : paragraph.create()));
}

interface Part {
  element: HTMLElement;
  before: string;
  after: string;
}

/** The blocks of a text, and the text between blocks, each in an element of its own. */
function parts(root: Element): Part[] {
  const found: Part[] = [];
  let run: HTMLElement | null = null;
  let space = '';
  const begin = (): HTMLElement => {
    const element = root.ownerDocument.createElement('div');
    found.push({ element, before: space, after: '' });
    space = '';
    return element;
  };
  for (const child of [...root.childNodes]) {
    if (isBlock(child)) {
      begin().append(child);
      run = null;
    } else if (run || !isSpace(child)) (run ??= begin()).append(child);
    else {
      space = child.textContent ?? '';
      if (found.length > 0) found.at(-1)!.after = space;
    }
  }
  return found;
}

function readPart({ element, before, after }: Part): Node[] {
  const html = element.innerHTML;
  const blocks = blocksOf(element) ?? blocksOf(withKept(element, html.length)) ?? [kept.create({ html })];
  if (blocks.length === 1) sources.set(blocks[0]!, { html, before, after });
  return blocks;
}

/** The blocks of a part, or null if the schema cannot hold them. */
function blocksOf(part: HTMLElement): Node[] | null {
  const read = part.cloneNode(true) as HTMLElement;
  for (const holder of [read, ...read.querySelectorAll(HOLDERS)]) if (holder === read || holder.querySelector(':scope > p')) wrapText(holder);
  for (const code of read.querySelectorAll('pre')) takeLineEnd(code);
  const blocks = [...reader.parse(read, { topNode: chunk.create() }).children];
  const again = inert.createElement('div');
  again.innerHTML = rendered(blocks).innerHTML;
  return looksSame(part, again) ? blocks : null;
}

/** Marks text that stands beside paragraphs, or in no other block, so that it gets no paragraph of its own. */
function wrapText(holder: Element): void {
  let run: Element | null = null;
  for (const child of [...holder.childNodes]) {
    const closed = isBlock(child) || (child.nodeType === 1 && (child as Element).querySelector(BLOCKS));
    if (closed) run = null;
    else if (run) run.append(child);
    else if (!isSpace(child)) {
      run = holder.ownerDocument.createElement('p');
      run.setAttribute('data-tight', 'bare');
      child.replaceWith(run);
      run.append(child);
    }
  }
}

const holderOf = (code: Element): Element => (code.childNodes.length === 1 && code.firstElementChild?.matches('code') ? code.firstElementChild : code);

/** The line break that ends a code block would be shown as an empty line. */
function takeLineEnd(code: Element): void {
  const last = holderOf(code).lastChild;
  if (last?.nodeType !== 3 || !/[^]\n$/.test(last.textContent!)) return;
  last.textContent = last.textContent!.slice(0, -1);
  code.setAttribute('data-end', '\n');
}

function putLineEnd(code: Element): void {
  holderOf(code).append(code.getAttribute('data-end')!);
  code.removeAttribute('data-end');
}

/** Puts the smallest blocks that the schema cannot hold into elements that keep them as HTML. */
function withKept(part: HTMLElement, length: number): HTMLElement {
  if (length > LONGEST_SEARCHED) return part;
  for (const block of [...part.querySelectorAll<HTMLElement>(BLOCKS)].reverse()) {
    if (!block.parentElement!.matches(HOLDERS)) continue;
    const alone = part.ownerDocument.createElement('div');
    alone.append(block.cloneNode(true));
    if (blocksOf(alone)) continue;
    const stand = part.ownerDocument.createElement('div');
    stand.setAttribute('data-kept', released(alone));
    block.replaceWith(stand);
  }
  return part;
}

/** The HTML of what was rendered, with what was kept as HTML in its place. */
function released(root: Element): string {
  for (const element of root.querySelectorAll('[data-kept]')) element.outerHTML = element.getAttribute('data-kept')!;
  return root.innerHTML;
}

/** True if nothing of a text can be edited but its HTML. */
export const isKept = (doc: Node): boolean => flat(doc.content).content.every((block) => block.type === kept);

/** The HTML of a document, as the server stores it. */
export function writeHtml(doc: Node): string {
  const blocks = flat(doc.content).content;
  const gap = gapOf(blocks);
  let html = '';
  let last: Source | undefined;
  let fresh: Node[] = [];
  const flush = (): void => {
    if (fresh.length > 0) html += (last?.after ?? '') + released(rendered(fresh, gap));
    fresh = [];
  };
  blocks.forEach((block, at) => {
    const source = sourceOf(blocks, at);
    if (!source) return void fresh.push(block);
    flush();
    html += source.before + source.html;
    last = source;
  });
  const ends = fresh.length === 0;
  flush();
  if (ends) html += last?.after ?? '';
  return html === '<p></p>' ? '' : html;
}

/** What a block came with. Two texts that came to stand side by side need paragraphs, which they had not. */
function sourceOf(blocks: readonly Node[], at: number): Source | undefined {
  const isText = (block: Node | undefined): boolean => block?.type.name === 'tight';
  return isText(blocks[at]) && (isText(blocks[at - 1]) || isText(blocks[at + 1])) ? undefined : sources.get(blocks[at]!);
}

/** The white space between the blocks of this text, which new blocks get, too. */
const gapOf = (blocks: readonly Node[]): string => blocks.slice(0, -1).map((block) => sources.get(block)?.after).find((one) => one !== undefined) ?? '';

/** True if two documents say the same. Then the blocks of the first one get the HTML of the second one. */
export function adoptSources(doc: Node, from: Node): boolean {
  const [blocks, origins] = [flat(doc.content), flat(from.content)];
  if (!blocks.eq(origins)) return false;
  blocks.content.forEach((block, at) => {
    const source = sources.get(origins.content[at]!);
    if (source) sources.set(block, source);
  });
  return true;
}

function rendered(blocks: Node[], gap = ''): HTMLElement {
  const root = inert.createElement('div');
  root.append(serializer.serializeFragment(Fragment.fromArray(blocks), { document: inert }));
  for (const element of root.querySelectorAll(`[${HELD}]`)) {
    element.setAttribute('class', element.getAttribute(HELD)!);
    element.removeAttribute(HELD);
  }
  for (const element of root.querySelectorAll('[data-embed]')) element.outerHTML = element.getAttribute('data-embed')!;
  for (const code of root.querySelectorAll('pre[data-end]')) putLineEnd(code);
  for (const table of root.querySelectorAll('table')) groupRows(table);
  for (const element of root.querySelectorAll('[data-captioned]')) captioned(element);
  if (gap) for (const block of [...root.children].slice(1)) block.before(gap);
  loosen(root);
  return root;
}

/** Puts rows back into the sections that they came from, and the columns before them. */
function groupRows(table: Element): void {
  let section = null as Element | null;
  for (const row of [...table.querySelectorAll(':scope > tbody > tr, :scope > tr')]) {
    const wanted = row.getAttribute('data-section');
    row.removeAttribute('data-section');
    if (!section || !openingTag(section).startsWith(wanted ?? '<tbody')) {
      section = sectionOf(table, wanted ?? '<tbody>');
      table.append(section);
    }
    section.append(row);
  }
  for (const left of [...table.children]) if (left.children.length === 0) left.remove();
  const columns = table.getAttribute('data-columns');
  table.removeAttribute('data-columns');
  if (columns) table.insertAdjacentHTML('afterbegin', columns);
}

/** A new section of a table, of its opening tag. */
function sectionOf(table: Element, tag: string): Element {
  const made = table.cloneNode(false) as Element;
  made.innerHTML = tag;
  return made.firstElementChild!;
}

/** A caption is a block beside its table in the editor, and the first element of it in HTML. */
function captioned(box: Element): void {
  const [text, table] = box.children;
  const caption = box.ownerDocument.createElement(table ? 'caption' : 'p');
  for (const { name, value } of text!.attributes) if (name !== 'data-caption') caption.setAttribute(name, value);
  caption.append(...text!.childNodes);
  if (table) table.prepend(caption);
  box.replaceWith(table ?? caption);
}

/** Text without a paragraph of its own stays so, unless it came to stand beside another one or in no other block. */
function loosen(root: Element): void {
  const needsParagraph = (text: Element): boolean => {
    const bare = text.getAttribute('data-tight') === 'bare';
    const beside = [text.previousElementSibling, text.nextElementSibling].some((other) => other?.matches(bare ? '[data-tight]' : 'p'));
    return beside || (text.parentNode === root && !bare);
  };
  const all = [...root.querySelectorAll('p[data-tight]')];
  const loose = new Set(all.filter(needsParagraph));
  for (const text of all) {
    if (loose.has(text)) text.removeAttribute('data-tight');
    else text.replaceWith(...text.childNodes);
  }
}

// HTML to the editor's document and back, and the check whether the editor can hold a text without losing anything.
import { DOMParser as Reader, DOMSerializer, type Node } from 'prosemirror-model';
import { parseHtml } from '../lib/inert';
import { divided, flat } from './chunks';
import { HELD, schema } from './schema';

export const readHtml = (html: string): Node => divided(Reader.fromSchema(schema).parse(parseHtml(html), { topNode: schema.nodes.chunk!.create() }));

/**
 * Reads what the browser did by itself, such as joining two paragraphs: it wraps what it moved in elements for the look, which are
 * no part of the text.
 */
export const domReader = new Reader(schema, [{ tag: 'span[style]', skip: true }, ...Reader.fromSchema(schema).rules]);

/** The HTML of a document, as the server stores it. */
export function writeHtml(doc: Node): string {
  const target = document.implementation.createHTMLDocument('');
  const root = target.createElement('div');
  root.append(DOMSerializer.fromSchema(schema).serializeFragment(flat(doc.content), { document: target }));
  for (const element of root.querySelectorAll(`[${HELD}]`)) {
    element.setAttribute('class', element.getAttribute(HELD)!);
    element.removeAttribute(HELD);
  }
  for (const element of root.querySelectorAll('[data-embed]')) element.outerHTML = element.getAttribute('data-embed')!;
  for (const table of root.querySelectorAll('table')) groupRows(table);
  for (const element of root.querySelectorAll('p[data-tight]')) loosen(element, root);
  const html = root.innerHTML;
  return html === '<p></p>' ? '' : html;
}

/** Puts rows back into the sections that they came from. */
function groupRows(table: Element): void {
  let section = null as Element | null;
  for (const row of [...table.querySelectorAll(':scope > tbody > tr, :scope > tr')]) {
    const wanted = row.getAttribute('data-section') ?? 'tbody';
    row.removeAttribute('data-section');
    if (section?.tagName.toLowerCase() !== wanted) {
      section = table.ownerDocument.createElement(['thead', 'tfoot'].includes(wanted) ? wanted : 'tbody');
      table.append(section);
    }
    section.append(row);
  }
  for (const left of [...table.children]) if (left.children.length === 0) left.remove();
}

/** Text without a paragraph of its own stays so, unless it stands beside another one or in no other block. */
function loosen(element: Element, root: Element): void {
  const beside = (other: Element | null): boolean => other?.matches('p') ?? false;
  if (element.parentNode === root || beside(element.nextElementSibling) || beside(element.previousElementSibling)) element.removeAttribute('data-tight');
  else element.replaceWith(...element.childNodes);
}

const INLINE = new Set(
  'a abbr b bdi bdo cite code del dfn em i ins kbd mark q s samp small span strong sub sup time u var'.split(' '),
);

const signature = (element: Element): string => {
  const attributes = [...element.attributes].filter((one) => one.name !== 'rel').map((one) => `${one.name}=${one.value}`);
  return [element.tagName.toLowerCase(), ...attributes.sort()].join(' ');
};

/**
 * A text as a list of what can be seen of it: blocks with their attributes, and runs of text with the marks around them. Two
 * texts with the same list differ only in white space between blocks and in the nesting of marks.
 */
function outline(root: Element): string[] {
  const found: string[] = [];
  let run = { marks: '', text: '' };
  const flush = (): void => {
    const text = run.text.replace(/\s+/g, ' ').trim();
    if (text) found.push(`"${text}" ${run.marks}`);
    run = { marks: '', text: '' };
  };
  const walk = (node: globalThis.Node, marks: string[], pre: boolean): void => {
    if (node.nodeType === 3) {
      const text = node.textContent ?? '';
      if (!text.trim() && !pre && run.text === '') return;
      const now = [...marks].sort().join('|');
      if (now !== run.marks && text.trim()) {
        flush();
        run.marks = now;
      }
      run.text += text;
      return;
    }
    if (!(node instanceof Element || node.nodeType === 1)) return;
    const element = node as Element;
    const tag = element.tagName.toLowerCase();
    if (INLINE.has(tag)) return element.childNodes.forEach((child) => walk(child, [...new Set([...marks, signature(element)])], pre));
    flush();
    found.push(`<${signature(element)}>`);
    element.childNodes.forEach((child) => walk(child, marks, pre || tag === 'pre'));
    flush();
    found.push(`</${tag}>`);
  };
  root.childNodes.forEach((child) => walk(child, [], false));
  flush();
  return found;
}

/** True if the editor can show a text and write it again without changing more than white space. */
export function faithful(html: string): boolean {
  const before = outline(parseHtml(html));
  const after = outline(parseHtml(writeHtml(readHtml(html))));
  return before.length === after.length && before.every((one, index) => one === after[index]);
}

// Cleans pasted HTML of Word, Google Docs and web pages from the look that they write into it, and links pasted addresses.
import { Fragment, Slice, type Mark, type Node, type ResolvedPos } from 'prosemirror-model';
import { Plugin, TextSelection } from 'prosemirror-state';
import { parseHtml } from '../lib/inert';
import { addressOf, findLinks } from './links';
import { safeAddress, schema } from './schema';
import { isHeldPicture, sayLost, takePictures } from './uploading';

/** Elements that are dropped with what is in them. */
const DROPPED = 'script, style, noscript, template, title, meta, link, xml, svg, math, canvas, object, button, input, select, textarea, nav, colgroup, [hidden], [aria-hidden=true]';
/** Elements that only lay out a page: what is in them stays. */
const LAYOUT = 'div, section, article, main, header, footer, aside, center, font, form, fieldset, label';
const BLOCKS = 'p, h1, h2, h3, h4, h5, h6, ul, ol, li, dl, blockquote, pre, table, hr, figure, details, iframe, video, div, section, article, main, header, footer, aside, center';
const HEADINGS = 'h1, h2, h3, h4, h5, h6, th';
/** Marks that a style stands for. A browser writes the style of everything that it copies, so headings stay as they are. */
const LOOKS: [tag: string, is: (style: CSSStyleDeclaration) => boolean, already: string][] = [
  ['strong', (style) => /^(bold|bolder|[6-9]00)$/.test(style.fontWeight), `b, strong, ${HEADINGS}`],
  ['em', (style) => style.fontStyle === 'italic', 'i, em'],
  ['u', (style) => /underline/.test(style.textDecorationLine || style.textDecoration), 'a, u, ins'],
  ['s', (style) => /line-through/.test(style.textDecorationLine || style.textDecoration), 's, del'],
  ['sup', (style) => style.verticalAlign === 'super', 'sup'],
  ['sub', (style) => style.verticalAlign === 'sub', 'sub'],
];

/** The raw attribute: properties of Word, such as `mso-list`, are in no `CSSStyleDeclaration`. */
const styleOf = (element: Element): string => element.getAttribute('style') ?? '';
const unwrap = (element: Element): void => element.replaceWith(...element.childNodes);

function rename(element: Element, tag: string): Element {
  const named = element.ownerDocument.createElement(tag);
  named.append(...element.childNodes);
  for (const { name, value } of element.attributes) named.setAttribute(name, value);
  element.replaceWith(named);
  return named;
}

/** The HTML of the clipboard as this editor writes it. What was copied here is left as it is. A message counts the pictures that are lost. */
function cleanHtml(html: string): string {
  const root = parseHtml(html);
  if (root.querySelector('[data-pm-slice]')) return html;
  for (const element of root.querySelectorAll(DROPPED)) element.remove();
  dropComments(root);
  wordLists(root);
  wordBlocks(root);
  looks(root);
  layout(root);
  nestedLists(root);
  sayLost(dropPictures(root));
  attributes(root);
  emptiness(root);
  return root.innerHTML;
}

function dropComments(root: Element): void {
  const walker = root.ownerDocument.createTreeWalker(root, 128 /* NodeFilter.SHOW_COMMENT */);
  const comments: globalThis.Node[] = [];
  while (walker.nextNode()) comments.push(walker.currentNode);
  for (const comment of comments) (comment as Comment).remove();
}

const NUMBERED = /^\(?([0-9]+|[a-z]|[ivxlcdm]+)[.)]/i;

/** Word writes items as paragraphs with `mso-list:l0 level2 lfo1`, and their points or numbers as text. */
function wordLists(root: Element): void {
  let open: { list: Element; level: number }[] = [];
  let last: { element: Element; list: string } | null = null;
  for (const paragraph of [...root.querySelectorAll('p, h1, h2, h3, h4, h5, h6')]) {
    const found = /mso-list:\s*(l\d+)\s+level(\d+)\s+(lfo\d+)/i.exec(styleOf(paragraph));
    const marker = [...paragraph.querySelectorAll('[style]')].find((one) => /mso-list:\s*ignore/i.test(styleOf(one)));
    const sign = (marker?.textContent ?? '').replace(/[\s\u00a0]+/g, '');
    marker?.remove();
    // A numbered heading is no list.
    if (!found || paragraph.tagName !== 'P') continue;
    const [level, list] = [Number(found[2]), `${found[1]} ${found[3]}`];
    if (!last || last.list !== list || paragraph.previousElementSibling !== last.element) open = [];
    while (open.length > 0 && open.at(-1)!.level > level) open.pop();
    if (open.at(-1)?.level !== level) {
      const made = root.ownerDocument.createElement(NUMBERED.test(sign) ? 'ol' : 'ul');
      const start = /^\(?([0-9]+)/.exec(sign)?.[1];
      if (start && start !== '1') made.setAttribute('start', start);
      const item = open.at(-1)?.list.lastElementChild;
      if (item) item.append(made);
      else paragraph.before(made);
      open.push({ list: made, level });
    }
    const item = root.ownerDocument.createElement('li');
    item.append(...paragraph.childNodes);
    open.at(-1)!.list.append(item);
    paragraph.remove();
    last = { element: open[0]!.list, list };
  }
}

/** Styles of Word that stand for elements, and elements of its own. */
function wordBlocks(root: Element): void {
  for (const element of [...root.querySelectorAll('*')]) if (element.tagName.includes(':')) unwrap(element);
  for (const element of root.querySelectorAll('p.MsoTitle')) rename(element, 'h1');
  for (const element of root.querySelectorAll('p.MsoQuote, p.MsoIntenseQuote')) rename(element, 'blockquote');
  for (const space of root.querySelectorAll('span')) {
    if (/mso-spacerun:\s*yes/i.test(styleOf(space)) || space.className === 'Apple-converted-space') space.textContent = space.textContent.replace(/[\u00a0\s]+/g, ' ');
  }
}

/** Bold and its like are elements, whether they came as elements or as a style. */
function looks(root: Element): void {
  // Through the CSSOM: the policy of the page lets no style attribute act.
  const probe = document.createElement('span');
  for (const element of [...root.querySelectorAll('b, strong, i, em, span, font, a')]) {
    const { style } = probe;
    style.cssText = styleOf(element);
    const plain = (/^(B|STRONG)$/.test(element.tagName) && /^(normal|lighter|[1-5]00)$/.test(style.fontWeight)) || (/^(I|EM)$/.test(element.tagName) && style.fontStyle === 'normal');
    if (element.tagName === 'SPAN' || element.tagName === 'A') {
      for (const [tag, is, already] of LOOKS) {
        if (!is(style) || element.closest(already) || !element.textContent.trim()) continue;
        const mark = root.ownerDocument.createElement(tag);
        mark.append(...element.childNodes);
        element.append(mark);
      }
    }
    if (plain || element.tagName === 'SPAN' || element.tagName === 'FONT') unwrap(element);
    else if (element.tagName === 'B') rename(element, 'strong');
    else if (element.tagName === 'I') rename(element, 'em');
  }
  for (const element of [...root.querySelectorAll(`:is(${HEADINGS}) strong`)]) unwrap(element);
}

/** A box that only lays out the page is a paragraph, if it has text of its own, and goes away otherwise. */
function layout(root: Element): void {
  for (const element of [...root.querySelectorAll(LAYOUT)].reverse()) {
    const inside = element.parentElement?.closest('p, h1, h2, h3, h4, h5, h6, li, td, th, dt, dd');
    const text = /^(DIV|SECTION|ARTICLE|MAIN|HEADER|FOOTER|ASIDE|CENTER)$/.test(element.tagName) && element.textContent.trim() !== '';
    if (text && !element.querySelector(BLOCKS) && (!inside || element.parentElement!.children.length > 1)) {
      const paragraph = rename(element, 'p');
      for (const { name } of [...paragraph.attributes]) paragraph.removeAttribute(name);
    } else unwrap(element);
  }
  // A cell or an item with one paragraph has its text without it.
  for (const holder of root.querySelectorAll('li, td, th')) {
    const paragraphs = [...holder.children].filter((child) => child.tagName === 'P');
    const loose = [...holder.childNodes].some((child) => child.nodeType === 3 && child.textContent?.trim());
    if (paragraphs.length === 1 && !loose) unwrap(paragraphs[0]!);
  }
}

/** Google Docs puts an inner list beside the item that it belongs to. */
function nestedLists(root: Element): void {
  for (const list of [...root.querySelectorAll(':is(ul, ol) > :is(ul, ol)')]) {
    const item = list.previousElementSibling;
    if (item?.tagName === 'LI') item.append(list);
    else {
      const made = root.ownerDocument.createElement('li');
      list.replaceWith(made);
      made.append(list);
    }
  }
}

const KEPT = new Set(['href', 'src', 'alt', 'title', 'colspan', 'rowspan', 'scope', 'start', 'reversed', 'datetime', 'open', 'controls', 'poster', 'allowfullscreen', 'width', 'height']);

/** False for addresses that sanitising removes, and for the marks that Word makes for its notes, comments and tables of contents. */
const leads = (href: string | null): boolean => href !== null && safeAddress(href) && !/^#_(ftn|edn|msocom|Toc|Ref)/.test(href);

/** Removes the pictures that only the other program can show. Answers how many those are. */
function dropPictures(root: Element): number {
  const lost = [...root.querySelectorAll('img')].filter((one) => {
    const address = one.getAttribute('src') ?? ':';
    return !isHeldPicture(address) && !/^(https?:|\/|[^:]*$)/i.test(address);
  });
  for (const picture of lost) picture.remove();
  return lost.length;
}

/** Attributes that say something about the content; not the look, and no address that only the other program can open. */
function attributes(root: Element): void {
  for (const element of [...root.querySelectorAll('*')]) {
    for (const { name, value } of [...element.attributes]) {
      const language = name === 'class' && element.tagName === 'CODE' && /^(language|lang)-[\w+#-]+$/.test(value);
      const direction = name === 'dir' && value === 'rtl';
      const sized = !/^(width|height)$/.test(name) || /^(IMG|IFRAME|VIDEO)$/.test(element.tagName);
      if (!(KEPT.has(name) && sized && (name !== 'title' || value)) && !language && !direction) element.removeAttribute(name);
    }
    if (element.tagName === 'A' && !leads(element.getAttribute('href'))) unwrap(element);
  }
}

/** Removes paragraphs and line breaks that only make distance. */
function emptiness(root: Element): void {
  for (const element of [...root.querySelectorAll('strong, em, u, s, sup, sub, a')]) if (element.textContent === '' && !element.querySelector('img, br')) element.remove();
  for (const element of [...root.querySelectorAll('p, h1, h2, h3, h4, h5, h6, blockquote')]) {
    if (!element.textContent.replace(/\u00a0/g, ' ').trim() && !element.querySelector('img, iframe, video, hr')) element.remove();
  }
  for (const line of [...root.querySelectorAll('br')]) {
    const between = [line.previousElementSibling, line.nextElementSibling].some((beside) => beside?.matches(BLOCKS));
    const last = !line.nextSibling || (line.nextSibling.nodeType === 3 && !line.nextSibling.textContent?.trim() && !line.nextSibling.nextSibling);
    if (between || last) line.remove();
  }
}

/** A line of plain text, in which addresses are links. */
function line(text: string, marks: readonly Mark[]): Node {
  const parts: Node[] = [];
  let at = 0;
  for (const { from, to, href } of findLinks(text)) {
    if (from > at) parts.push(schema.text(text.slice(at, from), marks));
    parts.push(schema.text(text.slice(from, to), schema.marks.link!.create({ href }).addToSet(marks)));
    at = to;
  }
  if (at < text.length) parts.push(schema.text(text.slice(at), marks));
  return schema.nodes.paragraph!.create(null, parts);
}

const inItem = ($at: ResolvedPos): boolean => $at.depth > 1 && $at.node(-1).type === schema.nodes.list_item;

/** The lines of plain text as paragraphs; in a list, as its items. What is copied as whole lines ends with a line break, which is no line. */
function plainText(text: string, $context: ResolvedPos): Slice {
  const lines = text.replace(/[\r\n]+$/, '').split(/(?:\r\n?|\n)+/).map((one) => line(one, $context.marks()));
  if (lines.length < 2 || !inItem($context)) return new Slice(Fragment.from(lines), 1, 1);
  const items = lines.map((one) => schema.nodes.list_item!.create(null, schema.nodes.tight!.create(null, one.content)));
  return new Slice(Fragment.from($context.node(-2).type.create(null, items)), 3, 3);
}

export const pasting = new Plugin({
  props: {
    transformPastedHTML: cleanHtml,
    transformPasted: takePictures,
    clipboardTextParser: plainText,
    /** An address that is pasted on a selection links it. */
    handlePaste(view, event) {
      const { state } = view;
      const { selection } = state;
      const href = addressOf(event.clipboardData?.getData('text/plain') ?? '');
      if (!href || selection.empty || !(selection instanceof TextSelection) || !selection.$from.sameParent(selection.$to) || selection.$from.parent.type.spec.code) return false;
      const type = schema.marks.link!;
      view.dispatch(state.tr.removeMark(selection.from, selection.to, type).addMark(selection.from, selection.to, type.create({ href })).scrollIntoView());
      return true;
    },
  },
});

// What the editor can hold: the elements and attributes that the server's sanitising keeps (API.md 2.4.7), and nothing else.
// Elements without a button of their own are kept as they came.
import { Schema, type Attrs, type DOMOutputSpec, type MarkSpec, type NodeSpec, type TagParseRule } from 'prosemirror-model';

const GLOBAL = ['class', 'dir', 'lang', 'title'];

type Names = readonly string[];

const attrSpecs = (names: Names) => Object.fromEntries([...GLOBAL, ...names].map((name) => [name, { default: null }]));

function readAttrs(names: Names, extra: (element: HTMLElement) => Attrs = () => ({})) {
  return (element: HTMLElement): Attrs => ({
    ...Object.fromEntries([...GLOBAL, ...names].map((name) => [name, element.getAttribute(name) ?? (name === 'class' ? element.getAttribute(HELD) : null)])),
    ...extra(element),
  });
}

/**
 * Classes of content must not take the look of the dashboard's own, so they are written under this name. `writeHtml` gives them
 * their own back.
 */
export const HELD = 'data-class';

/** The attributes that are set, for the output. */
function written(attrs: Attrs, skip: Names = []): Record<string, string> {
  return Object.fromEntries(Object.entries(attrs).filter(([name, value]) => value !== null && !skip.includes(name)).map(([name, value]) => [name === 'class' ? HELD : name, String(value)]));
}

const SCHEMES = /^(https?|mailto|tel):/i;
/** True for addresses that sanitising keeps: known schemes, or none. */
export const safeAddress = (address: string): boolean => SCHEMES.test(address.trim()) || !/^[^/?#]*:/.test(address.trim().replace(/[\u0000-\u0020]/g, ''));

function block(tag: string, content: string, names: Names = [], more: Partial<NodeSpec> = {}): NodeSpec {
  return {
    content,
    group: 'block',
    attrs: attrSpecs(names),
    parseDOM: [{ tag, getAttrs: readAttrs(names) }],
    toDOM: (node): DOMOutputSpec => [tag, written(node.attrs), 0],
    ...more,
  };
}

// `tight` comes first, so that a new item or cell begins with it.
const INSIDE = '(tight | block)+';
/** The cursor can stand before and after such a block, though no text is there. */
const PASSABLE: Partial<NodeSpec> = { createGapCursor: true };
/** Blocks that are kept without being offered. */
const BOXES = ['div', 'details', 'summary', 'dl', 'dt', 'dd', 'figure', 'figcaption'];

const CELL = ['colspan', 'rowspan', 'align', 'valign', 'headers', 'scope', 'abbr'] as const;

function cell(tag: 'td' | 'th'): NodeSpec {
  const attrs = { ...attrSpecs(CELL.slice(2)), colspan: { default: 1 }, rowspan: { default: 1 }, colwidth: { default: null } };
  return {
    content: INSIDE,
    attrs,
    tableRole: tag === 'td' ? 'cell' : 'header_cell',
    isolating: true,
    parseDOM: [{ tag, getAttrs: readAttrs(CELL.slice(2), (element) => ({ colspan: Number(element.getAttribute('colspan') || 1), rowspan: Number(element.getAttribute('rowspan') || 1) })) }],
    toDOM: (node): DOMOutputSpec => {
      const attributes = written(node.attrs, ['colwidth', ...['colspan', 'rowspan'].filter((name) => node.attrs[name] === 1)]);
      return [tag, attributes, 0];
    },
  };
}

export const openingTag = (element: Element): string => /^<[^]*?>(?=<\/\w+>$)/.exec((element.cloneNode(false) as Element).outerHTML)?.[0] ?? '';

/** The opening tag of the section that a row is in, such as `<thead>`. A new row has none: it belongs to the body before it. */
function sectionOf(row: HTMLElement): string | null {
  const section = row.parentElement;
  return row.getAttribute('data-section') ?? (section?.matches('thead, tbody, tfoot') ? openingTag(section) : null);
}

const hasCaption = (table: HTMLElement): boolean => table.querySelector(':scope > caption') !== null;
const columnsOf = (table: HTMLElement): string | null => table.getAttribute('data-columns') ?? ([...table.querySelectorAll(':scope > colgroup')].map((one) => one.outerHTML).join('') || null);

/** The caption of a table beside the table, as the editor holds them. */
function captionBeside(table: HTMLElement): HTMLElement {
  const box = table.ownerDocument.createElement('div');
  const rest = table.cloneNode(true) as HTMLElement;
  box.append(rest.querySelector(':scope > caption')!, rest);
  return box;
}

const nodes: Record<string, NodeSpec> = {
  doc: { content: 'chunk+' },
  /** A part of a long text (`chunks.ts`). It is in no HTML. */
  chunk: { content: 'block+', isolating: true, selectable: false, toDOM: () => ['div', { class: 'chunk' }, 0] },
  paragraph: block('p', 'inline*'),
  heading: {
    ...block('h1', 'inline*'),
    attrs: { ...attrSpecs([]), level: { default: 2 } },
    defining: true,
    parseDOM: [1, 2, 3, 4, 5, 6].map((level): TagParseRule => ({ tag: `h${level}`, getAttrs: readAttrs([], () => ({ level })) })),
    toDOM: (node) => [`h${node.attrs.level}`, written(node.attrs, ['level']), 0],
  },
  /**
   * Text directly in a list item, a cell or a box, which has no paragraph of its own in HTML. It may stand wherever a paragraph may,
   * so that it can be taken out of a list or a quote: outside of them it is written as a paragraph (`writeHtml`).
   */
  tight: {
    content: 'inline*',
    group: 'block',
    // At the edge of a text, or beside a paragraph, only text that came so has none of its own.
    attrs: { bare: { default: false } },
    parseDOM: [{ tag: 'p[data-tight]', priority: 60, getAttrs: (element) => ({ bare: element.getAttribute('data-tight') === 'bare' }) }],
    toDOM: (node) => ['p', { 'data-tight': node.attrs.bare ? 'bare' : '' }, 0],
  },
  blockquote: block('blockquote', INSIDE, ['cite'], { defining: true, ...PASSABLE }),
  code_block: {
    ...PASSABLE,
    ...block('pre', 'text*'),
    // `end` is the line break before the closing tag, which is no line of its own.
    attrs: { ...attrSpecs([]), code: { default: null }, end: { default: null } },
    code: true,
    defining: true,
    parseDOM: [
      {
        tag: 'pre',
        preserveWhitespace: 'full',
        getAttrs: readAttrs([], (element) => ({ end: element.getAttribute('data-end'), code: onlyCode(element) ? (element.firstElementChild!.getAttribute('class') ?? element.firstElementChild!.getAttribute(HELD) ?? '') : null })),
        contentElement: (element) => (onlyCode(element as HTMLElement) ? (element as HTMLElement).firstElementChild as HTMLElement : (element as HTMLElement)),
      },
    ],
    toDOM: (node) => {
      const attributes = { ...written(node.attrs, ['code', 'end']), ...(node.attrs.end ? { 'data-end': node.attrs.end as string } : {}) };
      return node.attrs.code === null ? ['pre', attributes, 0] : ['pre', attributes, ['code', node.attrs.code ? { [HELD]: node.attrs.code as string } : {}, 0]];
    },
  },
  bullet_list: block('ul', 'list_item+', [], PASSABLE),
  ordered_list: block('ol', 'list_item+', ['start', 'type', 'reversed'], PASSABLE),
  list_item: { ...block('li', INSIDE, ['value']), group: '', defining: true, allowGapCursor: false },
  horizontal_rule: { ...block('hr', ''), content: '', toDOM: (node) => ['hr', written(node.attrs)] },
  /** A table with its caption, which is a block beside it here. */
  captioned_table: {
    content: 'caption table?',
    group: 'block',
    isolating: true,
    ...PASSABLE,
    parseDOM: [
      { tag: 'table', priority: 60, getAttrs: (element) => (hasCaption(element) ? null : false), contentElement: (element) => captionBeside(element as HTMLElement) },
      { tag: 'div[data-captioned]', priority: 60 },
    ],
    toDOM: () => ['div', { 'data-captioned': '' }, 0],
  },
  caption: {
    ...block('caption', 'inline*'),
    group: '',
    parseDOM: [{ tag: 'caption, div[data-caption]', priority: 60, getAttrs: readAttrs([]) }],
    // Outside of a table, a browser reads no element of this name.
    toDOM: (node) => ['div', { ...written(node.attrs), 'data-caption': '' }, 0],
  },
  table: {
    ...block('table', 'table_row+', ['summary']),
    attrs: { ...attrSpecs(['summary']), columns: { default: null } },
    tableRole: 'table',
    isolating: true,
    parseDOM: [{ tag: 'table', getAttrs: readAttrs(['summary'], (element) => ({ columns: columnsOf(element) })) }],
    toDOM: (node) => ['table', { ...written(node.attrs, ['columns']), ...(node.attrs.columns ? { 'data-columns': node.attrs.columns as string } : {}) }, 0],
  },
  table_row: {
    content: '(table_cell | table_header)*',
    attrs: { ...attrSpecs([]), section: { default: null } },
    tableRole: 'row',
    parseDOM: [{ tag: 'tr', getAttrs: readAttrs([], (element) => ({ section: sectionOf(element) })) }],
    toDOM: (node) => ['tr', { ...written(node.attrs, ['section']), ...(node.attrs.section ? { 'data-section': node.attrs.section as string } : {}) }, 0],
  },
  table_cell: cell('td'),
  table_header: cell('th'),
  box: {
    content: INSIDE,
    group: 'block',
    attrs: { ...attrSpecs(['open']), tag: { default: 'div' } },
    defining: true,
    ...PASSABLE,
    parseDOM: BOXES.map((tag): TagParseRule => ({ tag, getAttrs: readAttrs(['open'], () => ({ tag })) })),
    toDOM: (node) => [node.attrs.tag as string, written(node.attrs, ['tag']), 0],
  },
  /** Videos and players, kept as they are. They do not run in the editor. */
  embed: {
    group: 'block',
    atom: true,
    attrs: { html: { default: '' } },
    parseDOM: [
      ...['iframe', 'video'].map((tag): TagParseRule => ({ tag, getAttrs: (element) => ({ html: element.outerHTML }) })),
      { tag: 'div[data-embed]', priority: 60, getAttrs: (element) => ({ html: element.getAttribute('data-embed') }) },
    ],
    toDOM: (node) => ['div', { 'data-embed': node.attrs.html as string }],
  },
  /** A block that nothing else here can hold. It is shown as HTML, and written as it came. */
  kept: {
    group: 'block',
    atom: true,
    attrs: { html: { default: '' } },
    parseDOM: [{ tag: 'div[data-kept]', priority: 60, getAttrs: (element) => ({ html: element.getAttribute('data-kept') }) }],
    toDOM: (node) => ['div', { 'data-kept': node.attrs.html as string }],
  },
  text: { group: 'inline' },
  image: {
    inline: true,
    group: 'inline',
    draggable: true,
    attrs: attrSpecs(['src', 'alt', 'width', 'height', 'loading', 'decoding']),
    parseDOM: [{ tag: 'img[src]', getAttrs: readAttrs(['src', 'alt', 'width', 'height', 'loading', 'decoding']) }],
    toDOM: (node) => ['img', written(node.attrs)],
  },
  hard_break: { inline: true, group: 'inline', selectable: false, attrs: attrSpecs([]), parseDOM: [{ tag: 'br', getAttrs: readAttrs([]) }], toDOM: (node) => ['br', written(node.attrs)] },
  word_break: { inline: true, group: 'inline', selectable: false, attrs: attrSpecs([]), parseDOM: [{ tag: 'wbr', getAttrs: readAttrs([]) }], toDOM: (node) => ['wbr', written(node.attrs)] },
};

function onlyCode(element: HTMLElement): boolean {
  return element.childNodes.length === 1 && element.firstElementChild?.tagName === 'CODE' && [...element.firstElementChild.attributes].every((one) => one.name === 'class' || one.name === HELD);
}

/** Inline elements with the attributes of their own; those before `strong` are kept without being offered. */
const INLINE: Record<string, Names> = {
  ruby: [], rp: [], rt: [], bdo: [], bdi: [], span: [], abbr: [], cite: [], dfn: [], q: ['cite'], time: ['datetime'], var: [], samp: [], kbd: [], small: [], mark: [],
  ins: ['cite', 'datetime'], del: ['cite', 'datetime'], strong: [], b: [], em: [], i: [], u: [], s: [], sub: [], sup: [], code: [],
};

function inline(tag: string, names: Names): MarkSpec {
  return {
    attrs: attrSpecs(names),
    parseDOM: [{ tag, getAttrs: readAttrs(names) }],
    toDOM: (mark) => [tag, written(mark.attrs), 0],
  };
}

const marks: Record<string, MarkSpec> = {
  link: {
    attrs: attrSpecs(['href', 'hreflang', 'target']),
    inclusive: false,
    excludes: 'link anchor',
    parseDOM: [{ tag: 'a[href]', getAttrs: (element) => (safeAddress(element.getAttribute('href') ?? '') ? readAttrs(['href', 'hreflang', 'target'])(element) : false) }],
    toDOM: (mark) => ['a', written(mark.attrs), 0],
  },
  /** A link without an address: sanitising takes those that it does not allow. */
  anchor: { ...inline('a', ['hreflang', 'target']), inclusive: false, excludes: 'link anchor', parseDOM: [{ tag: 'a:not([href])', getAttrs: readAttrs(['hreflang', 'target']) }] },
  ...Object.fromEntries(Object.entries(INLINE).map(([tag, names]) => [tag, inline(tag, names)])),
};

export const schema = new Schema({ nodes, marks });

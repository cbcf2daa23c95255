// The differences of two texts by words, for plain text and for HTML of content. It must not know how they are drawn.
import { diffArrays } from 'diff';
import type { Field, Json } from './types';

export interface Piece {
  text: string;
  kind: 'same' | 'removed' | 'added';
}

interface Token {
  /** What is compared: a word with the formatting around it, but without the space behind it. */
  key: string;
  /** What is shown: a text, or in HTML a piece of markup. */
  text: string;
  /** Tags in front of it. */
  tags: string;
}

/** Texts that differ almost everywhere are shown beside each other instead. */
const MOST_CHANGES = 4000;
const TIMEOUT_MS = 500;
/** Words this short between two changes are shown as changed, too: “a” of a sentence that was rewritten explains nothing. */
const SHORT = 3;

const WORDS = /&#?\w+;\s*|[\p{L}\p{N}_]+\s*|[^\s\p{L}\p{N}_]\s*|\s+/gu;

const wordsOf = (text: string, around = '', tags = ''): Token[] =>
  [...text.matchAll(WORDS)].map(([word], index) => ({ key: `${word.trim() || ' '}\u0000${around}`, text: word, tags: index === 0 ? tags : '' }));

interface Run<T> {
  kind: Piece['kind'];
  tokens: T[];
}

/** The space in front of what is gone belonged to the word before it, which is shown as it is now. */
function spaced(gone: Token[], before: Token | undefined, shown: Token | undefined): Token[] {
  const [first, ...rest] = gone;
  const lost = first && before && shown && shown.text !== '' && /\s$/.test(before.text) && !/\s$/.test(shown.text);
  return lost ? [{ ...first, text: ` ${first.text}` }, ...rest] : gone;
}

/** Null if the texts have too little in common to be compared. */
function runsOf(from: Token[], to: Token[]): Run<Token>[] | null {
  const changes = diffArrays(from.map((one) => one.key), to.map((one) => one.key), { maxEditLength: MOST_CHANGES, timeout: TIMEOUT_MS });
  if (!changes) return null;
  let [left, right] = [0, 0];
  const runs = changes.map(({ added, removed, value }): Run<Token> => {
    const { length } = value;
    if (removed) return { kind: 'removed', tokens: spaced(from.slice(left, (left += length)), from[left - length - 1], to[right - 1]) };
    // Equal parts are shown as they are now.
    if (!added) left += length;
    return { kind: added ? 'added' : 'same', tokens: to.slice(right, (right += length)) };
  });
  return withoutCrumbs(runs);
}

/** Joins changes that only a short word divides. */
function withoutCrumbs(runs: Run<Token>[]): Run<Token>[] {
  const joined: Run<Token>[] = [];
  let [removed, added]: [Token[], Token[]] = [[], []];
  const flush = (): void => {
    if (removed.length > 0) joined.push({ kind: 'removed', tokens: removed });
    if (added.length > 0) joined.push({ kind: 'added', tokens: added });
    [removed, added] = [[], []];
  };
  runs.forEach((run, index) => {
    const length = run.tokens.reduce((sum, one) => sum + one.key.indexOf('\u0000'), 0);
    const between = removed.length > 0 && added.length > 0 && index < runs.length - 1;
    if (run.kind === 'removed') removed.push(...run.tokens);
    else if (run.kind === 'added') added.push(...run.tokens);
    else if (between && length <= SHORT && run.tokens.every((one) => one.tags === '')) {
      removed.push(...run.tokens);
      added.push(...run.tokens);
    } else {
      flush();
      joined.push(run);
    }
  });
  flush();
  return joined;
}

/** The differences of two plain texts. Null if they have too little in common, or differ in white space only. */
export function textDifferences(from: string, to: string): Piece[] | null {
  const runs = runsOf(wordsOf(from), wordsOf(to));
  if (!runs?.some((one) => one.kind !== 'same')) return null;
  return runs.map(({ kind, tokens }) => ({ kind, text: tokens.map((one) => one.text).join('') }));
}

const SHOWN_AROUND = 160;

/** Shortens what is the same, so that changes of a long text stand near each other. */
export function shortened(pieces: Piece[]): Piece[] {
  return pieces.map((piece, index) => {
    if (piece.kind !== 'same' || piece.text.length < 3 * SHOWN_AROUND) return piece;
    const [head, tail] = [index > 0 ? piece.text.slice(0, SHOWN_AROUND) : '', index < pieces.length - 1 ? piece.text.slice(-SHOWN_AROUND) : ''];
    return { ...piece, text: `${head} … ${tail}` };
  });
}

const TAGS_OR_TEXT = /<(\/?)([a-zA-Z][\w-]*)((?:"[^"]*"|[^>"])*)>|<!--[^]*?-->|[^<]+|</g;
/** Elements without text of their own, which are compared as one word. */
const OBJECTS = /^(img|hr|iframe|video|audio|source|input)$/i;
const CLOSED = /^(iframe|video|audio)$/i;
const VOID = /^(br|wbr|col|area)$/i;
const INLINE = /^(a|abbr|b|bdi|bdo|cite|code|del|dfn|em|i|ins|kbd|mark|q|s|samp|small|span|strong|sub|sup|time|u|var)$/i;

/** The words of HTML as the server writes it, each with the formatting that it stands in. The last one holds the tags at the end. */
function tokensOfHtml(html: string): Token[] {
  const tokens: Token[] = [];
  const inline: string[] = [];
  let tags = '';
  for (const [whole, close, name, attributes] of html.matchAll(TAGS_OR_TEXT)) {
    if (!name) {
      const words = wordsOf(whole, inline.join(), tags);
      if (words.length > 0) [tags] = [''];
      tokens.push(...words);
    } else if (OBJECTS.test(name)) {
      if (close) continue;
      tokens.push({ key: `${whole}\u0000`, text: CLOSED.test(name) ? `${whole}</${name}>` : whole, tags });
      tags = '';
    } else {
      tags += whole;
      if (INLINE.test(name)) {
        if (close) inline.pop();
        else inline.push(name + (attributes ?? ''));
      }
      // The beginning of a block is a word, too: a paragraph that became a heading has changed.
      else if (!close && !VOID.test(name)) {
        tokens.push({ key: `\u0000${name}`, text: '', tags });
        tags = '';
      }
    }
  }
  tokens.push({ key: '\u0000end', text: '', tags });
  return tokens;
}

/**
 * HTML of the newer text in which `ins` and `del` mark the differences, without the blocks far from any of them. Null if the texts
 * have too little in common, or differ only in what cannot be marked.
 */
export function htmlDifferences(from: string, to: string): string | null {
  const runs = runsOf(tokensOfHtml(from), tokensOfHtml(to));
  if (!runs) return null;
  let [html, removed] = ['', ''];
  const flush = (): void => {
    const text = html === '' || html.endsWith('>') ? removed.replace(/^(<br>)+/, '') : removed;
    if (text.replaceAll('<br>', '').trim()) html += `<del>${text}</del>`;
    removed = '';
  };
  for (const { kind, tokens } of runs) {
    for (const { text, tags } of tokens) {
      if (kind === 'removed') {
        // The tags of what is gone would open elements that nothing closes.
        removed += text || '<br>';
        continue;
      }
      // Removed text ends where its element ended.
      if (tags && /^<\//.test(tags)) flush();
      html += tags;
      if (text) flush();
      html += kind === 'added' && text.trim() ? `<ins>${text}</ins>` : text;
    }
  }
  flush();
  const marked = html.replaceAll('</ins><ins>', '');
  return /<(ins|del)>/.test(marked) ? withoutDistance(marked) : null;
}

/** The elements and texts at the top of HTML. */
export function blocksOf(html: string): string[] {
  const blocks: string[] = [];
  let [depth, block] = [0, ''];
  for (const [whole, close, name] of html.matchAll(TAGS_OR_TEXT)) {
    block += whole;
    if (name && !OBJECTS.test(name) && !VOID.test(name)) depth += close ? -1 : 1;
    if (depth <= 0 && name) {
      blocks.push(block);
      [depth, block] = [0, ''];
    }
  }
  return block ? [...blocks, block] : blocks;
}

/** Leaves out the blocks that have no change and stand beside none. */
function withoutDistance(html: string): string {
  const blocks = blocksOf(html);
  const changed = blocks.map((one) => /<(ins|del)>/.test(one));
  const near = blocks.map((_, index) => changed[index - 1] || changed[index] || changed[index + 1]);
  return blocks.map((one, index) => (near[index] ? one : index === 0 || near[index - 1] ? '<p>…</p>' : '')).join('');
}

/** The text that two values can be compared by, in words; null for values that are compared as a whole. */
export function wordsIn(field: Field, value: Json): string | null {
  if (value === null) return '';
  if (field.type === 'text' || field.type === 'rich-text') return typeof value === 'string' ? value : null;
  return field.type === 'html-page' ? ((value as { html?: string }).html ?? '') : null;
}

// Marks that are typed: `**bold**` and its like, and addresses that become links.
import { InputRule } from 'prosemirror-inputrules';
import type { MarkType } from 'prosemirror-model';
import type { EditorState, Transaction } from 'prosemirror-state';
import { findLinks } from './links';
import { safeAddress, schema } from './schema';

const mark = (name: string): MarkType => schema.marks[name]!;

/** Replaces what was typed by its text with a mark. The first group of the pattern is the text, the whole match is replaced. */
const markRule = (pattern: RegExp, name: string, attrs: (match: RegExpMatchArray) => Record<string, unknown> | null = () => ({})): InputRule =>
  new InputRule(pattern, (state, match, start, end) => {
    const set = attrs(match);
    const text = match[1]!;
    const from = start + match[0].indexOf(text);
    if (!set || !state.doc.resolve(start).parent.type.allowsMarkType(mark(name)) || state.doc.rangeHasMark(start, end, mark('code'))) return null;
    const transaction = state.tr;
    if (from + text.length < end) transaction.delete(from + text.length, end);
    if (start < from) transaction.delete(start, from);
    return transaction.addMark(start, start + text.length, mark(name).create(set)).removeStoredMark(mark(name));
  });

export const markRules: InputRule[] = [
  markRule(/(?<![*\w])\*\*([^*\s](?:[^*]*[^*\s])?)\*\*$/u, 'strong'),
  markRule(/(?<![_\p{L}\p{N}])__([^_\s](?:[^_]*[^_\s])?)__$/u, 'strong'),
  markRule(/(?<![*\w])\*([^*\s](?:[^*]*[^*\s])?)\*$/u, 'em'),
  markRule(/(?<![_\p{L}\p{N}])_([^_\s](?:[^_]*[^_\s])?)_$/u, 'em'),
  markRule(/(?<!~)~~([^~\s](?:[^~]*[^~\s])?)~~$/u, 's'),
  markRule(/(?<!`)`([^`]+)`$/u, 'code'),
  markRule(/(?<!!)\[([^\][]+)\]\(([^\s()]+)\)$/u, 'link', (match) => (safeAddress(match[2]!) ? { href: match[2] } : null)),
];

/** Links the address that ends at the cursor. */
export function linkBefore(state: EditorState): Transaction | null {
  const { $from, empty } = state.selection;
  if (!empty || !$from.parent.isTextblock || $from.parent.type.spec.code) return null;
  const text = $from.parent.textBetween(0, $from.parentOffset, undefined, '\ufffc');
  const word = text.search(/\S+$/);
  const found = word < 0 ? undefined : findLinks(text.slice(word))[0];
  if (!found) return null;
  const start = $from.start() + word;
  const [from, to] = [start + found.from, start + found.to];
  if (state.doc.rangeHasMark(from, to, mark('link')) || state.doc.rangeHasMark(from, to, mark('code'))) return null;
  return state.tr.addMark(from, to, mark('link').create({ href: found.href })).removeStoredMark(mark('link'));
}

// Code blocks: how they are left, and become text again.
import { Fragment, type Node } from 'prosemirror-model';
import { Selection, TextSelection, type Command } from 'prosemirror-state';
import { schema } from './schema';

const { paragraph, hard_break } = schema.nodes as Record<'paragraph' | 'hard_break', Node['type']>;

/** Enter behind two empty lines at the end of code begins a paragraph, and takes them away. */
export const leaveCode: Command = (state, dispatch) => {
  const { $from, empty } = state.selection;
  const { parent } = $from;
  if (!empty || !parent.type.spec.code || $from.parentOffset < parent.content.size || !parent.textContent.endsWith('\n\n')) return false;
  const transaction = state.tr.delete($from.pos - 2, $from.pos);
  const behind = transaction.selection.$from.after();
  transaction.insert(behind, paragraph.create());
  dispatch?.(transaction.setSelection(TextSelection.create(transaction.doc, behind + 1)).scrollIntoView());
  return true;
};

/** The lines of code as one paragraph, which would run together without breaks. */
function asText(code: Node): Node {
  const lines = code.textContent.split('\n');
  const parts = lines.flatMap((line, at) => [...(at > 0 ? [hard_break.create()] : []), ...(line ? [schema.text(line)] : [])]);
  return paragraph.create(null, Fragment.from(parts));
}

/** Makes the code at the cursor a paragraph. A line break and a break of a line are one character each, so the cursor stays. */
export const codeToText: Command = (state, dispatch) => {
  const { $from, $to } = state.selection;
  if (!$from.parent.type.spec.code || !$from.sameParent($to)) return false;
  const transaction = state.tr.replaceWith($from.before(), $from.after(), asText($from.parent));
  dispatch?.(transaction.setSelection(TextSelection.create(transaction.doc, $from.pos, $to.pos)).scrollIntoView());
  return true;
};

/** Backspace at the beginning of code, or of a heading before which there is nothing to join it to, makes it text. */
export const textAtStart: Command = (state, dispatch) => {
  const { $from, empty } = state.selection;
  if (!empty || $from.parentOffset > 0) return false;
  if ($from.parent.type.spec.code) return codeToText(state, dispatch);
  if ($from.parent.type !== schema.nodes.heading || Selection.findFrom(state.doc.resolve($from.before()), -1)) return false;
  dispatch?.(state.tr.setNodeMarkup($from.before(), paragraph, Object.fromEntries(Object.keys(paragraph.spec.attrs ?? {}).map((name) => [name, $from.parent.attrs[name] ?? null]))));
  return true;
};

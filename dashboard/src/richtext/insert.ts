// Inserts blocks and puts the cursor where somebody goes on typing.
import { splitBlock } from 'prosemirror-commands';
import { GapCursor } from 'prosemirror-gapcursor';
import type { Node } from 'prosemirror-model';
import { NodeSelection, Selection, TextSelection, type Command, type EditorState, type Transaction } from 'prosemirror-state';
import { addRowAfter, goToNextCell, isInTable } from 'prosemirror-tables';
import { schema } from './schema';

/** Puts the cursor behind a block: into the rest of the text that it divided, or where typing makes a paragraph. */
function goBehind(transaction: Transaction, position: number, divided: boolean): Transaction {
  const $behind = transaction.doc.resolve(position);
  const next = $behind.nodeAfter;
  if (divided && next?.isTextblock) return transaction.setSelection(TextSelection.create(transaction.doc, position + 1));
  if (!next?.isTextblock && $behind.parent.type !== schema.nodes.list_item) return transaction.setSelection(new GapCursor($behind));
  transaction.insert(position, schema.nodes.paragraph!.create());
  return transaction.setSelection(TextSelection.create(transaction.doc, position + 1));
}

/** Inserts a block behind the selection, or instead of an empty paragraph. A table is entered, other blocks are left behind. */
export function insertBlock(transaction: Transaction, block: Node): Transaction {
  const { $to } = transaction.selection;
  const { parent } = $to;
  const divided = parent.isTextblock && $to.parentOffset > 0 && $to.parentOffset < parent.content.size;
  const from = transaction.mapping.maps.length;
  const index = $to.depth > 0 ? $to.index(-1) : 0;
  if (parent.isTextblock && parent.content.size === 0 && $to.node(-1).canReplaceWith(index, index + 1, block.type)) transaction.replaceWith($to.before(), $to.after(), block);
  else transaction.replaceRangeWith($to.pos, $to.pos, block);
  // Other blocks may have been closed before it.
  let [low, high] = [0, 0];
  transaction.mapping.maps.slice(from).forEach((map) => map.forEach((_from, _to, start, end) => ([low, high] = [start, end])));
  let place: number | null = null;
  transaction.doc.nodesBetween(low, high, (child, position) => {
    if (place === null && position >= low && child.eq(block)) place = position;
    return place === null;
  });
  if (place === null) return transaction.scrollIntoView();
  if (block.type.name === 'table') transaction.setSelection(Selection.near(transaction.doc.resolve(place + 1), 1));
  else goBehind(transaction, place + block.nodeSize, divided);
  return transaction.scrollIntoView();
}

export const insertCommand = (block: Node): Command => (state, dispatch) => (dispatch?.(insertBlock(state.tr, block)), true);

/** Typing on a selected picture, video or divider goes behind it, instead of replacing it. */
export function typeBehind(state: EditorState, text: string): Transaction | null {
  const { selection } = state;
  if (!(selection instanceof NodeSelection)) return null;
  if (selection.node.isInline) return state.tr.setSelection(TextSelection.create(state.doc, selection.to)).insertText(text).scrollIntoView();
  const transaction = state.tr.insert(selection.to, schema.nodes.paragraph!.create(null, schema.text(text)));
  return transaction.setSelection(TextSelection.create(transaction.doc, selection.to + 1 + text.length)).scrollIntoView();
}

const selectedPicture = ({ selection }: EditorState): NodeSelection | null => (selection instanceof NodeSelection && selection.node.isInline ? selection : null);

/** Enter on a selected picture begins a paragraph behind it. */
export const breakBehind: Command = (state, dispatch) => {
  const picture = selectedPicture(state);
  if (!picture) return false;
  return splitBlock(state.apply(state.tr.setSelection(TextSelection.create(state.doc, picture.to))), dispatch && ((done) => {
    const transaction = state.tr;
    for (const step of done.steps) transaction.step(step);
    dispatch(transaction.setSelection(Selection.near(transaction.doc.resolve(done.selection.from))).scrollIntoView());
  }));
};

/** The arrow key on a selected picture goes behind it, where no text follows. */
export const goBehindPicture: Command = (state, dispatch) => {
  const picture = selectedPicture(state);
  if (!picture || Selection.findFrom(state.doc.resolve(picture.$to.after()), 1)) return false;
  dispatch?.(state.tr.setSelection(TextSelection.create(state.doc, picture.to)).scrollIntoView());
  return true;
};

/**
 * The arrow key leaves lists, quotes, code and tables at the edge of the text, all of them at once, and typing there makes a paragraph.
 * Other keymaps would stop between a list and the end of its quote, or go to another cell of the same row.
 */
export const leaveAtEdge = (step: -1 | 1): Command => (state, dispatch, view) => {
  const { $head, empty } = state.selection;
  if (!empty || !(state.selection instanceof TextSelection) || $head.depth < 3 - Number($head.parent.type.spec.code ?? false)) return false;
  if (!view?.endOfTextblock(step > 0 ? 'down' : 'up')) return false;
  for (let depth = $head.depth - 1; depth >= 0; depth -= 1) {
    const around = $head.node(depth);
    // The cells beside one are not below it.
    if (around.type !== schema.nodes.table_row && around.maybeChild($head.index(depth) + step)) return false;
  }
  dispatch?.(state.tr.setSelection(new GapCursor(state.doc.resolve(step > 0 ? $head.after(2) : $head.before(2)))).scrollIntoView());
  return true;
};

/** Tab in a table: the next cell, and after the last one a new row. */
export const nextCell: Command = (state, dispatch, view) => {
  if (!isInTable(state)) return false;
  if (goToNextCell(1)(state, dispatch) || !dispatch || !view) return true;
  addRowAfter(state, dispatch);
  return goToNextCell(1)(view.state, dispatch);
};

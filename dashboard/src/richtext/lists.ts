// Lists and quotes: how they are made, changed, joined and left.
import { autoJoin, chainCommands, joinTextblockBackward, joinTextblockForward, lift, wrapIn } from 'prosemirror-commands';
import { InputRule } from 'prosemirror-inputrules';
import { Fragment, type Attrs, type Node, type NodeType, type ResolvedPos } from 'prosemirror-model';
import { liftListItem, splitListItem, wrapInList } from 'prosemirror-schema-list';
import { AllSelection, TextSelection, type Command, type Transaction } from 'prosemirror-state';
import { canJoin, findWrapping, liftTarget } from 'prosemirror-transform';
import { acrossChunks } from './chunks';
import { schema } from './schema';

const { list_item: item, blockquote, paragraph, tight } = schema.nodes as Record<'list_item' | 'blockquote' | 'paragraph' | 'tight', NodeType>;

const isList = (node: Node | null | undefined): boolean => node?.type.name === 'bullet_list' || node?.type.name === 'ordered_list';
const unset = (attrs: Attrs): boolean => Object.values(attrs).every((value) => value === null);

/** Lists that come to stand next to each other become one, unless the second has a start or a class of its own. */
const joined = (command: Command): Command => autoJoin(command, (before, after) => isList(before) && before.type === after.type && unset(after.attrs));

/** With everything selected, a command that wraps blocks gets a selection from the first to the last text. */
const ofText = (command: Command): Command => (state, dispatch, view) => {
  if (!(state.selection instanceof AllSelection)) return command(state, dispatch, view);
  const select = state.tr.setSelection(TextSelection.between(state.selection.$from, state.selection.$to));
  return command(state.reconfigure({ plugins: [] }).apply(select), dispatch, view);
};

/** Writes the paragraphs of new items as `<li>text</li>`, if they have no attributes. */
function tighten(transaction: Transaction, from: number, to: number): Transaction {
  transaction.doc.nodesBetween(from, to, (child, position, parent) => {
    if (child.type === paragraph && parent?.type === item && parent.childCount === 1 && unset(child.attrs)) transaction.setNodeMarkup(position, tight);
  });
  return transaction;
}

/** The blocks as one list; those that cannot be items divide it. Lists among them give their items. */
function asLists(blocks: Node[], type: NodeType): Node[] {
  const found: Node[] = [];
  let items: Node[] = [];
  const flush = (): void => {
    if (items.length) found.push(type.create(null, items));
    items = [];
  };
  for (const block of blocks) {
    if (isList(block)) items.push(...block.children);
    else if (block.isTextblock && !block.type.spec.code) items.push(item.create(null, block.type === paragraph && unset(block.attrs) ? tight.create(null, block.content) : block));
    else {
      flush();
      found.push(block);
    }
  }
  flush();
  return found;
}

/** Makes a list, changes its kind, or ends it if it has this kind. */
export const toggleList = (type: NodeType): Command =>
  ofText(acrossChunks(joined((state, dispatch) => {
    const { $from, $to } = state.selection;
    const range = $from.blockRange($to);
    if (!range) return false;
    for (let depth = range.depth; depth > 0 && !$from.node(depth).type.spec.isolating; depth -= 1) {
      const list = $from.node(depth);
      if (!isList(list)) continue;
      if (list.type === type) return liftListItem(item)(state, dispatch);
      dispatch?.(state.tr.setNodeMarkup($from.before(depth), type, list.attrs));
      return true;
    }
    const blocks = range.parent.children.slice(range.startIndex, range.endIndex);
    if (!blocks.some(isList) && blocks.every((block) => block.isTextblock && !block.type.spec.code)) {
      return wrapInList(type)(state, dispatch && ((done) => dispatch(tighten(done, done.selection.from, done.selection.to))));
    }
    const made = blocks.every((block) => isList(block) && block.type === type) ? blocks.flatMap((list) => list.children.flatMap((one) => [...one.children])) : asLists(blocks, type);
    if (!made.some((block, at) => block !== blocks[at])) return wrapInList(type)(state, dispatch);
    const transaction = state.tr.replaceWith(range.start, range.end, Fragment.from(made));
    const end = range.start + made.reduce((sum, block) => sum + block.nodeSize, 0);
    dispatch?.(transaction.setSelection(TextSelection.between(transaction.doc.resolve(range.start + 1), transaction.doc.resolve(end - 1))).scrollIntoView());
    return true;
  })));

/** Makes a quote of the blocks, or takes them out of the innermost quote, with the lists that they are in. */
export const toggleQuote: Command = ofText(acrossChunks((state, dispatch) => {
  const { $from, $to } = state.selection;
  const range = $from.blockRange($to, (node) => node.type === blockquote);
  if (!range) return wrapIn(blockquote)(state, dispatch);
  const target = liftTarget(range);
  if (target === null) return false;
  dispatch?.(state.tr.lift(range, target).scrollIntoView());
  return true;
}));

/** True at the beginning of the first block of an item or a quote. */
const begins = ($at: ResolvedPos, type: NodeType): boolean => $at.depth > 1 && $at.parent.isTextblock && $at.parentOffset === 0 && $at.node(-1).type === type && $at.index(-1) === 0;

/** Enter on an empty item or an empty line of a quote leaves it, by one level. */
const leaveEmpty: Command = (state, dispatch) => {
  const { $from, empty } = state.selection;
  if (!empty || !$from.parent.isTextblock || $from.parent.content.size > 0 || $from.depth < 2) return false;
  if (begins($from, item)) return liftListItem(item)(state, dispatch);
  return $from.node(-1).type === blockquote && lift(state, dispatch);
};

/** A new item is written like the one before it: with a paragraph of its own or without. */
const splitItem: Command = (state, dispatch) => {
  const before = state.selection.$from.parent;
  return splitListItem(item)(state, dispatch && ((done) => {
    const { $from } = done.selection;
    if (before.type === paragraph && $from.parent.type === tight) done.setNodeMarkup($from.before(), paragraph);
    dispatch(done);
  }));
};

/** Backspace at the beginning of an item or a quote leaves it. */
const leaveAtStart: Command = (state, dispatch) => {
  const { $from, empty } = state.selection;
  if (!empty) return false;
  if (begins($from, item)) return liftListItem(item)(state, dispatch);
  return begins($from, blockquote) && lift(state, dispatch);
};

/** The block before or after the one with the cursor, at the lowest level that has one. */
function neighbour($at: ResolvedPos, step: -1 | 1): Node | null {
  for (let depth = $at.depth - 1; depth > 0; depth -= 1) {
    const found = $at.node(depth).maybeChild($at.index(depth) + step);
    if (found) return found;
    if ($at.node(depth).type.spec.isolating) return null;
  }
  return null;
}

/** Joins the text with an item or a quote beside it, where joining the blocks would only move the text into it. */
const joinText = (step: -1 | 1): Command => acrossChunks(joined((state, dispatch, view) => {
  const { $from, empty } = state.selection;
  const beside = empty && $from.parent.isTextblock ? neighbour($from, step) : null;
  if (!beside || !(isList(beside) || beside.type === item || beside.type === blockquote)) return false;
  return (step < 0 ? joinTextblockBackward : joinTextblockForward)(state, dispatch, view);
}));

export const listKeys: Record<'Enter' | 'Backspace' | 'Delete', Command> = {
  Enter: chainCommands(leaveEmpty, splitItem),
  Backspace: chainCommands(leaveAtStart, joinText(-1)),
  Delete: joinText(1),
};

/** Makes a list of a paragraph that begins like one. */
export const listRule = (pattern: RegExp, type: NodeType, attrs: (match: RegExpMatchArray) => Attrs | null = () => null): InputRule =>
  new InputRule(pattern, (state, match, start, end) => {
    const transaction = state.tr.delete(start, end);
    const range = transaction.doc.resolve(start).blockRange();
    const wrapping = range && findWrapping(range, type, attrs(match));
    if (!wrapping) return null;
    transaction.wrap(range, wrapping);
    const before = transaction.doc.resolve(start - 1).nodeBefore;
    tighten(transaction, start, start + 2);
    if (before?.type === type && !attrs(match) && canJoin(transaction.doc, start - 1)) transaction.join(start - 1);
    return transaction;
  });

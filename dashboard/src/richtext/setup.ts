// Keys, rules for typing, and plugins of the editor.
import { baseKeymap, chainCommands, exitCode, setBlockType, toggleMark } from 'prosemirror-commands';
import { dropCursor } from 'prosemirror-dropcursor';
import { GapCursor, gapCursor } from 'prosemirror-gapcursor';
import { history, redo, undo } from 'prosemirror-history';
import { InputRule, inputRules, textblockTypeInputRule, undoInputRule, wrappingInputRule } from 'prosemirror-inputrules';
import { keymap } from 'prosemirror-keymap';
import type { MarkType } from 'prosemirror-model';
import { liftListItem, sinkListItem } from 'prosemirror-schema-list';
import { Plugin, Selection, TextSelection, type Command, type EditorState } from 'prosemirror-state';
import { goToNextCell, tableEditing } from 'prosemirror-tables';
import { Decoration, DecorationSet, type EditorView } from 'prosemirror-view';
import { acrossChunks, chunks } from './chunks';
import { codeToText, leaveCode, textAtStart } from './code';
import { breakBehind, goBehindPicture, insertBlock, leaveAtEdge, nextCell, typeBehind } from './insert';
import { listKeys, listRule } from './lists';
import { linkBefore, markRules } from './marks';
import { pasting } from './paste';
import { leaveCaption, toPicture } from './pictures';
import { schema } from './schema';
import { uploadPlaces } from './uploading';

const { nodes, marks } = schema;

export const node = (name: string) => nodes[name]!;
export const mark = (name: string) => marks[name]!;

const breakLine: Command = (state, dispatch) => {
  dispatch?.(state.tr.replaceSelectionWith(node('hard_break').create()).scrollIntoView());
  return true;
};

/** To the beginning or the end of the text. The browser does not know places in parts of it that it has not laid out yet. */
const toEdge = (end: boolean, extend: boolean): Command => (state, dispatch) => {
  const { doc, selection, tr } = state;
  const edge = end ? Selection.atEnd(doc) : Selection.atStart(doc);
  dispatch?.(tr.setSelection(extend ? TextSelection.between(selection.$anchor, edge.$head) : edge).scrollIntoView());
  return true;
};

const edges: Record<string, Command> = Object.fromEntries(
  [['Ctrl-End', 'Ctrl-Home'], ['Meta-ArrowDown', 'Meta-ArrowUp']].flatMap((pair) =>
    pair.flatMap((key, at) => [[key, toEdge(at === 0, false)], [`Shift-${key}`, toEdge(at === 0, true)]] as [string, Command][])),
);

/** Text in the place of another kind of block. */
export const toParagraph = chainCommands(codeToText, setBlockType(node('paragraph')));

/** Tab that moves no item, such as the first one, stays in the list all the same: somebody who types on would not type into the text. */
const stayInItem = (stuck: () => void): Command => (state, dispatch) => {
  if (!inside(state, 'list_item')) return false;
  if (dispatch) stuck();
  return true;
};

/** The keys that move in a text. With `leaves`, Tab does not, so that it goes to the next input. */
const keys = (openLink: () => void, leaves: () => boolean, stuck: () => void) => {
  const stay = stayInItem(stuck);
  const unlessLeaving = (command: Command): Command => (state, dispatch, view) => !leaves() && command(state, dispatch, view);
  return keymap({
    ...edges,
    'Mod-z': undo,
    'Shift-Mod-z': redo,
    'Mod-y': redo,
    ...listKeys,
    Enter: chainCommands(leaveCode, leaveCaption, breakBehind, listKeys.Enter),
    Backspace: chainCommands(undoInputRule, toPicture, listKeys.Backspace, textAtStart),
    ArrowDown: chainCommands(goBehindPicture, leaveAtEdge(1)),
    ArrowUp: leaveAtEdge(-1),
    'Mod-b': toggleMark(mark('strong')),
    'Mod-i': toggleMark(mark('em')),
    'Mod-u': toggleMark(mark('u')),
    'Mod-e': toggleMark(mark('code')),
    'Mod-Shift-x': toggleMark(mark('s')),
    'Alt-k': () => (openLink(), true),
    'Shift-Enter': chainCommands(exitCode, breakLine),
    // Tab moves the focus out of the editor, except where it has a meaning of its own.
    Tab: unlessLeaving(chainCommands(sinkListItem(node('list_item')), nextCell, stay)),
    'Shift-Tab': unlessLeaving(chainCommands(liftListItem(node('list_item')), goToNextCell(-1), stay)),
    'Mod-Alt-0': toParagraph,
    ...Object.fromEntries([1, 2, 3, 4].map((level) => [`Mod-Alt-${level}`, setBlockType(node('heading'), { level })])),
  });
};

/** After Escape, Tab moves the focus out of lists and tables, too, until another key is pressed. */
function escaping(): { plugin: Plugin; escaped: () => boolean } {
  let escaped = false;
  const plugin = new Plugin({
    props: {
      handleKeyDown(_view, { key }) {
        if (key === 'Escape') escaped = true;
        else if (key !== 'Tab' && key !== 'Shift') escaped = false;
        return false;
      },
      handleDOMEvents: { blur: () => void (escaped = false) },
    },
  });
  return { plugin, escaped: () => escaped };
}

/** Keys that join blocks see no chunks. */
const joining = Object.fromEntries(Object.entries(baseKeymap).map(([key, command]) => [key, /Backspace|Delete|-[hd]$/.test(key) ? acrossChunks(command) : command]));

const rules = inputRules({
  rules: [
    textblockTypeInputRule(/^(#{1,6})\s$/, node('heading'), (match) => ({ level: match[1]!.length })),
    textblockTypeInputRule(/^```$/, node('code_block')),
    new InputRule(/^---$/, (state, _match, start, end) => insertBlock(state.tr.delete(start, end), node('horizontal_rule').create())),
    ...markRules,
    wrappingInputRule(/^\s*>\s$/, node('blockquote')),
    listRule(/^\s*[-*+]\s$/, node('bullet_list')),
    listRule(/^(\d+)[.)]\s$/, node('ordered_list'), (match) => (match[1] === '1' ? null : { start: match[1]! })),
  ],
});

const placeholder = (text: () => string) =>
  new Plugin({
    props: {
      decorations(state) {
        const [chunk, first] = [state.doc.firstChild, state.doc.firstChild?.firstChild];
        if (state.doc.childCount !== 1 || chunk?.childCount !== 1 || !first?.isTextblock || first.content.size > 0) return null;
        return DecorationSet.create(state.doc, [Decoration.node(1, 1 + first.nodeSize, { 'data-placeholder': text() })]);
      },
    },
  });

/** Text that is typed: behind a selected block; after a space, an address is a link. */
const typing = new Plugin({
  props: {
    handleTextInput(view, _from, _to, text) {
      const behind = typeBehind(view.state, text);
      if (behind) view.dispatch(behind);
      else if (text === ' ') linkNow(view);
      return behind !== null;
    },
    handleKeyDown(view, event) {
      if (event.key === 'Enter') linkNow(view);
      return false;
    },
  },
});

function linkNow(view: EditorView): void {
  const linked = linkBefore(view.state);
  if (linked) view.dispatch(linked);
}

/** A click below the last block puts the cursor behind it, where that is a list, a quote, a table or a video. */
const clickBelow = new Plugin({
  props: {
    handleClick(view, _position, event) {
      const { doc, tr } = view.state;
      const end = doc.content.size - 1;
      const block = doc.lastChild!.lastChild!;
      const dom = view.nodeDOM(end - block.nodeSize) as Element | null;
      if (!dom || event.clientY <= dom.getBoundingClientRect().bottom || (block.isTextblock && !block.type.spec.code)) return false;
      view.dispatch(tr.setSelection(new GapCursor(doc.resolve(end))));
      return true;
    },
  },
});

/** `stuck` is called when Tab stays in the text and moves nothing. */
export function plugins(openLink: () => void, hint: () => string, stuck: () => void): Plugin[] {
  const { plugin, escaped } = escaping();
  return [plugin, typing, rules, keys(openLink, escaped, stuck), keymap(joining), chunks(), history(), dropCursor(), clickBelow, pasting, uploadPlaces, gapCursor(), tableEditing(), placeholder(hint)];
}

export function markActive(state: EditorState, type: MarkType): boolean {
  const { from, to, empty, $from } = state.selection;
  return empty ? !!type.isInSet(state.storedMarks ?? $from.marks()) : state.doc.rangeHasMark(from, to, type);
}

/** The name of the block at the cursor: `paragraph`, `h2`, `code_block`; lists and quotes by what they hold. */
export function blockAt(state: EditorState): string {
  const parent = state.selection.$from.parent;
  return parent.type.name === 'heading' ? `h${parent.attrs.level}` : parent.type.name === 'code_block' ? 'code_block' : 'paragraph';
}

export function inside(state: EditorState, name: string): boolean {
  const { $from } = state.selection;
  for (let depth = $from.depth; depth > 0; depth -= 1) if ($from.node(depth).type.name === name) return true;
  return false;
}

/** The kind of the innermost list at the cursor. */
export function listAt(state: EditorState): string | null {
  const { $from } = state.selection;
  for (let depth = $from.depth; depth > 0; depth -= 1) if (/_list$/.test($from.node(depth).type.name)) return $from.node(depth).type.name;
  return null;
}

/** The link at the cursor or in the selection: its address, and where it begins and ends. */
export function linkAt(state: EditorState): { href: string; from: number; to: number } | null {
  const { $from, from: start, to: end, empty } = state.selection;
  let found: { href: string; from: number; to: number } | null = null;
  const [low, high] = empty ? [$from.start(), $from.end()] : [start, end];
  state.doc.nodesBetween(low, high, (child, position) => {
    const link = mark('link').isInSet(child.marks);
    const touches = !empty || (position <= start && position + child.nodeSize >= start);
    if (!link || !child.isText) return;
    const href = link.attrs.href as string;
    if (found && found.href === href && found.to === position) found.to = position + child.nodeSize;
    else if (touches && !found) found = { href, from: position, to: position + child.nodeSize };
  });
  return found;
}

// Keys, rules for typing, and plugins of the editor.
import { baseKeymap, chainCommands, exitCode, setBlockType, toggleMark } from 'prosemirror-commands';
import { dropCursor } from 'prosemirror-dropcursor';
import { gapCursor } from 'prosemirror-gapcursor';
import { history, redo, undo } from 'prosemirror-history';
import { inputRules, textblockTypeInputRule, undoInputRule, wrappingInputRule } from 'prosemirror-inputrules';
import { keymap } from 'prosemirror-keymap';
import type { MarkType } from 'prosemirror-model';
import { liftListItem, sinkListItem, splitListItem } from 'prosemirror-schema-list';
import { Plugin, Selection, TextSelection, type Command, type EditorState } from 'prosemirror-state';
import { goToNextCell, tableEditing } from 'prosemirror-tables';
import { Decoration, DecorationSet } from 'prosemirror-view';
import { acrossChunks, chunks } from './chunks';
import { schema } from './schema';

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

const keys = (openLink: () => void) =>
  keymap({
    ...edges,
    'Mod-z': undo,
    'Shift-Mod-z': redo,
    'Mod-y': redo,
    Backspace: undoInputRule,
    'Mod-b': toggleMark(mark('strong')),
    'Mod-i': toggleMark(mark('em')),
    'Mod-u': toggleMark(mark('u')),
    'Mod-e': toggleMark(mark('code')),
    'Mod-Shift-x': toggleMark(mark('s')),
    'Alt-k': () => (openLink(), true),
    'Shift-Enter': chainCommands(exitCode, breakLine),
    Enter: splitListItem(node('list_item')),
    // Tab moves the focus out of the editor, except where it has a meaning of its own.
    Tab: chainCommands(sinkListItem(node('list_item')), goToNextCell(1)),
    'Shift-Tab': chainCommands(liftListItem(node('list_item')), goToNextCell(-1)),
    'Mod-Alt-0': setBlockType(node('paragraph')),
    ...Object.fromEntries([1, 2, 3, 4].map((level) => [`Mod-Alt-${level}`, setBlockType(node('heading'), { level })])),
  });

/** Keys that join blocks see no chunks. */
const joining = Object.fromEntries(Object.entries(baseKeymap).map(([key, command]) => [key, /Backspace|Delete|-[hd]$/.test(key) ? acrossChunks(command) : command]));

const rules = inputRules({
  rules: [
    textblockTypeInputRule(/^(#{1,6})\s$/, node('heading'), (match) => ({ level: match[1]!.length })),
    textblockTypeInputRule(/^```$/, node('code_block')),
    wrappingInputRule(/^\s*>\s$/, node('blockquote')),
    wrappingInputRule(/^\s*[-*]\s$/, node('bullet_list')),
    wrappingInputRule(/^(\d+)\.\s$/, node('ordered_list'), (match) => ({ start: match[1] === '1' ? null : match[1]! })),
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

export const plugins = (openLink: () => void, hint: () => string): Plugin[] => [
  rules,
  keys(openLink),
  keymap(joining),
  chunks(),
  history(),
  dropCursor(),
  gapCursor(),
  tableEditing(),
  placeholder(hint),
];

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

// A long text is held in chunks of some dozens of blocks. The browser lays out and paints only the chunks near what is seen, and
// looks at some dozens of boxes for a key instead of thousands. Chunks exist in the editor alone: HTML, the clipboard and
// commands know nothing of them. A text that is not long is one chunk.
import { Fragment, Slice, type Node } from 'prosemirror-model';
import { Plugin, Selection, type Command, type EditorState, type Transaction } from 'prosemirror-state';
import { Decoration, DecorationSet, type NodeView } from 'prosemirror-view';
import { GAP_REM, LINE_CHARS, LINE_REM } from './height';
import { schema } from './schema';

/** How many blocks a chunk has when it is made, and when it is divided. */
const BLOCKS = 40;
const MOST_BLOCKS = 100;

const chunkOf = (blocks: Node[]): Node => schema.nodes.chunk!.create(null, blocks);

/** A document of the blocks of one chunk. */
export function divided(whole: Node): Node {
  const blocks = [...whole.children];
  const count = blocks.length > MOST_BLOCKS ? Math.ceil(blocks.length / BLOCKS) : 1;
  const chunks = Array.from({ length: count }, (_, at) => (count === 1 ? whole : chunkOf(blocks.slice(at * BLOCKS, (at + 1) * BLOCKS))));
  return schema.nodes.doc!.create(null, chunks);
}

/** The blocks of a document or of what was copied, without the chunks around them. */
export function flat(content: Fragment): Fragment {
  const blocks: Node[] = [];
  content.forEach((child) => (child.type.name === 'chunk' ? blocks.push(...child.children) : blocks.push(child)));
  return Fragment.fromArray(blocks);
}

function copied(slice: Slice): Slice {
  if (slice.content.firstChild?.type.name !== 'chunk') return slice;
  return new Slice(flat(slice.content), Math.max(0, slice.openStart - 1), Math.max(0, slice.openEnd - 1));
}

/** Divides chunks that grew. It belongs to the change that made them grow: one step of undoing has both. */
function divide(transactions: readonly Transaction[], state: EditorState): Transaction | null {
  if (!transactions.some((one) => one.docChanged)) return null;
  const places: number[] = [];
  state.doc.forEach((chunk, offset) => {
    if (chunk.childCount <= MOST_BLOCKS) return;
    let position = offset + 1;
    chunk.forEach((block, _, at) => {
      if (at > 0 && at % BLOCKS === 0 && chunk.childCount - at >= BLOCKS / 2) places.push(position);
      position += block.nodeSize;
    });
  });
  if (places.length === 0) return null;
  const transaction = state.tr;
  // From the last to the first, so that a division does not move the others.
  for (const place of places.reverse()) transaction.split(place);
  return transaction;
}

/** The first and the last chunk that a change at the selection can concern. */
function concerned(state: EditorState): [number, number] {
  const { $from, $to } = state.selection;
  if ($from.depth === 0 || $to.depth === 0) return [0, state.doc.childCount - 1];
  const [from, to] = [$from.index(0), $to.index(0)];
  const first = from > 0 && $from.index(1) === 0 ? from - 1 : from;
  const last = to < state.doc.childCount - 1 && $to.index(1) === $to.node(1).childCount - 1 ? to + 1 : to;
  return [first, last];
}

/** A command that joins or wraps blocks, as if there were no chunks: those that it concerns are joined before it. */
export function acrossChunks(command: Command): Command {
  return (state, dispatch, view) => {
    const [first, last] = concerned(state);
    if (first === last) return command(state, dispatch, view);
    const whole = state.tr;
    const edges: number[] = [];
    state.doc.forEach((_, offset, at) => at > first && at <= last && edges.push(offset));
    for (const edge of edges.reverse()) whole.join(edge);
    // Without plugins, which would divide the chunk again.
    const joined = state.reconfigure({ plugins: [] }).apply(whole);
    // Without the view, which shows other positions.
    return command(joined, dispatch && ((done) => {
      for (const step of done.steps) whole.step(step);
      whole.setSelection(Selection.fromJSON(whole.doc, done.selection.toJSON()));
      if (done.storedMarksSet) whole.setStoredMarks(done.storedMarks);
      dispatch(whole.scrollIntoView());
    }));
  };
}

/** Marks the chunks with the ends of the selection, which are always laid out: in another one, the browser would type elsewhere. */
function atSelection({ doc, selection }: EditorState): DecorationSet {
  const places = new Set([selection.$anchor, selection.$head].filter((end) => end.depth > 0).map((end) => end.before(1)));
  return DecorationSet.create(doc, [...places].map((place) => Decoration.node(place, place + doc.nodeAt(place)!.nodeSize, { class: 'at-selection' })));
}

export const chunks = (): Plugin =>
  new Plugin({
    appendTransaction: (transactions, _before, state) => divide(transactions, state),
    props: { transformCopied: copied, decorations: atSelection },
  });

/** An element of its own for each chunk, with the height that it will have, so that the scroll bar does not jump much. */
export function chunkView(node: Node): NodeView {
  const dom = document.createElement('div');
  dom.className = 'chunk';
  let rem = 0;
  node.forEach((block) => (rem += Math.max(block.childCount, Math.ceil(block.content.size / LINE_CHARS)) * LINE_REM + GAP_REM));
  dom.style.containIntrinsicBlockSize = `auto ${Math.round(rem)}rem`;
  return { dom, contentDOM: dom };
}

// Pictures with their descriptions and captions. One with a caption is a figure: a box with the picture, and a box with its text.
import { DOMSerializer, Fragment, type Attrs, type Node } from 'prosemirror-model';
import { NodeSelection, TextSelection, type Command, type EditorState } from 'prosemirror-state';
import type { NodeView } from 'prosemirror-view';
import { shownAddress } from '../lib/media';
import { insertBlock } from './insert';
import { schema } from './schema';

const { image, box, paragraph, tight } = schema.nodes as Record<'image' | 'box' | 'paragraph' | 'tight', Node['type']>;

export interface Picture {
  src: string;
  alt: string;
  caption: string;
}

interface Figure {
  node: Node;
  position: number;
}

const isBox = (node: Node | null | undefined, tag: string): boolean => node?.type === box && node.attrs.tag === tag;
const captionOf = (figure: Node | undefined): Node | undefined => figure?.children.find((child) => isBox(child, 'figcaption'));

function selectedImage({ selection }: EditorState): Node | null {
  return selection instanceof NodeSelection && selection.node.type === image ? selection.node : null;
}

/** The figure that holds the selection. */
function figureAt({ selection: { $from } }: EditorState): Figure | null {
  for (let depth = $from.depth; depth > 0; depth -= 1) if (isBox($from.node(depth), 'figure')) return { node: $from.node(depth), position: $from.before(depth) };
  return null;
}

/** The selected picture, or an empty one. */
export function pictureAt(state: EditorState): Picture {
  const selected = selectedImage(state);
  const figure = selected ? figureAt(state) : null;
  return { src: String(selected?.attrs.src ?? ''), alt: String(selected?.attrs.alt ?? ''), caption: captionOf(figure?.node)?.textContent ?? '' };
}

const line = (text: string): Node => tight.create(null, text ? schema.text(text) : null);
const captioned = (picture: Node, caption: string): Node =>
  box.create({ tag: 'figure' }, [tight.create(null, picture), box.create({ tag: 'figcaption' }, line(caption))]);

/** The figure with another picture and another caption. A caption whose text stays keeps its marks. */
function changedFigure({ node }: Figure, old: Node, picture: Node, caption: string): Node {
  const replaced = (parent: Node): Node => parent.copy(Fragment.from(parent.children.map((child) => (child === old ? picture : child.isLeaf ? child : replaced(child)))));
  const made = replaced(node);
  const before = captionOf(made);
  if (before?.textContent === caption) return made;
  const text = box.create(before?.attrs ?? { tag: 'figcaption' }, line(caption));
  return made.copy(before ? Fragment.from(made.children.map((child) => (child === before ? text : child))) : made.content.addToEnd(text));
}

/** What belongs to the picture stays, such as its class. Its size was that of another file. */
function attributesOf(old: Node | null, { src, alt }: Picture): Attrs {
  if (!old) return { src, alt };
  return { ...old.attrs, ...(old.attrs.src === src ? {} : { width: null, height: null }), src, alt };
}

/** Inserts a picture, or changes the selected one. */
export const putPicture = (wanted: Picture): Command => (state, dispatch) => {
  const old = selectedImage(state);
  const picture = image.create(attributesOf(old, wanted), null, old?.marks);
  const caption = wanted.caption.trim();
  const figure = old && figureAt(state);
  const transaction = state.tr;
  if (figure) {
    const end = figure.position + figure.node.nodeSize;
    const made = caption ? changedFigure(figure, old, picture, caption) : paragraph.create(null, picture);
    transaction.replaceWith(figure.position, end, made);
    // The picture is selected again.
    transaction.doc.nodesBetween(figure.position, figure.position + made.nodeSize, (child, position) => void (child === picture && transaction.setSelection(NodeSelection.create(transaction.doc, position))));
  } else if (caption) {
    if (old) transaction.deleteSelection();
    insertBlock(transaction, captioned(picture, caption));
  } else transaction.replaceSelectionWith(picture, false);
  dispatch?.(transaction.scrollIntoView());
  return true;
};

/** The figure whose caption has the cursor at its beginning or its end. */
function captionEdge({ selection }: EditorState, end: boolean): Figure | null {
  const { $from, empty } = selection;
  const inCaption = empty && $from.depth > 1 && $from.parent.isTextblock && isBox($from.node(-1), 'figcaption');
  const depth = $from.depth - 2;
  if (!inCaption || $from.parentOffset !== (end ? $from.parent.content.size : 0) || $from.index(-1) !== (end ? $from.node(-1).childCount - 1 : 0)) return null;
  return depth > 0 && isBox($from.node(depth), 'figure') ? { node: $from.node(depth), position: $from.before(depth) } : null;
}

/** Enter at the end of a caption begins a paragraph behind the figure. */
export const leaveCaption: Command = (state, dispatch) => {
  const figure = captionEdge(state, true);
  if (!figure) return false;
  const behind = figure.position + figure.node.nodeSize;
  const transaction = state.tr.insert(behind, paragraph.create());
  dispatch?.(transaction.setSelection(TextSelection.create(transaction.doc, behind + 1)).scrollIntoView());
  return true;
};

/** Backspace at the beginning of a caption selects the picture, and takes an empty caption away. */
export const toPicture: Command = (state, dispatch) => {
  const figure = captionEdge(state, false);
  let place = -1;
  figure?.node.descendants((child, position) => void (place < 0 && child.type === image && (place = figure.position + 1 + position)));
  const picture = place < 0 ? null : state.doc.nodeAt(place);
  if (!figure || !picture) return false;
  const transaction = state.tr;
  if (captionOf(figure.node)?.textContent === '') {
    transaction.replaceWith(figure.position, figure.position + figure.node.nodeSize, paragraph.create(null, picture));
    place = figure.position + 1;
  }
  dispatch?.(transaction.setSelection(NodeSelection.create(transaction.doc, place)).scrollIntoView());
  return true;
};

/** Selects the first picture without a description. Returns false if every picture has one. */
export const selectUndescribed: Command = (state, dispatch) => {
  let found = -1;
  state.doc.descendants((child, position) => {
    if (found < 0 && child.type === image && !child.attrs.alt) found = position;
    return found < 0;
  });
  if (found < 0) return false;
  dispatch?.(state.tr.setSelection(NodeSelection.create(state.doc, found)).scrollIntoView());
  return true;
};

export const countUndescribed = (doc: Node): number => {
  let count = 0;
  doc.descendants((child) => {
    if (child.type === image && !child.attrs.alt) count += 1;
  });
  return count;
};

/** A picture as it is now, though its address may be that of an older file. The text keeps the address. */
export function imageView(node: Node): NodeView {
  const { dom } = DOMSerializer.renderSpec(document, schema.nodes.image!.spec.toDOM!(node));
  (dom as HTMLImageElement).src = shownAddress(String(node.attrs.src ?? ''));
  return { dom };
}

// Files that are dropped or pasted into a text: each is uploaded, and takes the place that was kept for it meanwhile.
import { Fragment, Slice, type Node } from 'prosemirror-model';
import { Plugin, PluginKey, Selection, type EditorState } from 'prosemirror-state';
import { insertPoint } from 'prosemirror-transform';
import { Decoration, DecorationSet, type EditorView } from 'prosemirror-view';
import { mount, unmount } from 'svelte';
import { blueprints } from '../lib/blueprints.svelte';
import { t } from '../lib/i18n.svelte';
import { ALT, isPicture, lastingAddress, mediaBlueprints, textOf } from '../lib/media';
import { session } from '../lib/session.svelte';
import { showError, toasts } from '../lib/toasts.svelte';
import type { Blueprint, Resource } from '../lib/types';
import { filesOf, uploads, type Upload } from '../lib/uploads.svelte';
import { schema } from './schema';
import UploadPlace from './UploadPlace.svelte';

const key = new PluginKey<DecorationSet>('uploading');

/** A place that is kept for a file. */
interface Reserved {
  upload: Upload;
  position: number;
  /** The picture as it was pasted, whose description and size stay. */
  picture?: Node;
}

interface Change {
  add?: Reserved[];
  remove?: number;
  clear?: true;
}

const shownPlaces = new WeakMap<globalThis.Node, Record<string, unknown>>();

function place({ upload, position, picture }: Reserved): Decoration {
  const draw = (view: EditorView): HTMLElement => {
    const dom = Object.assign(document.createElement('span'), { className: 'uploading', contentEditable: 'false' });
    shownPlaces.set(dom, mount(UploadPlace, { target: dom, props: { upload, done: () => view.focus() } }));
    return dom;
  };
  return Decoration.widget(position, draw, {
    upload, picture, key: String(upload.id), stopEvent: () => true, ignoreSelection: true,
    destroy: (dom) => void unmount(shownPlaces.get(dom) ?? {}),
  });
}

const uploadAt = (place: Decoration): Upload => (place.spec as Reserved).upload;

/** Uploads of the pictures in HTML that is being pasted, by the addresses that the pictures have until they are in the text. */
const pasted = new Map<string, Upload>();

/** Keeps the places of files that are on their way, wherever the text around them goes. */
export const uploadPlaces = new Plugin<DecorationSet>({
  key,
  state: {
    init: () => DecorationSet.empty,
    apply(transaction, places) {
      const moved = places.map(transaction.mapping, transaction.doc);
      const { add, remove, clear } = (transaction.getMeta(key) as Change | undefined) ?? {};
      if (clear) return DecorationSet.empty;
      if (add) return moved.add(transaction.doc, add.map(place));
      return remove === undefined ? moved : moved.remove(moved.find().filter((one) => uploadAt(one).id === remove));
    },
  },
  /** The places of pasted pictures are kept as those of dropped ones. */
  appendTransaction(_transactions, _before, state) {
    if (pasted.size === 0) return null;
    const transaction = state.tr;
    const add: Reserved[] = [];
    state.doc.descendants((picture, at) => {
      const upload = picture.type === schema.nodes.image ? pasted.get(String(picture.attrs.src)) : undefined;
      if (!upload) return;
      pasted.delete(String(picture.attrs.src));
      const position = transaction.mapping.map(at);
      transaction.delete(position, position + picture.nodeSize);
      add.push({ upload, position, picture });
    });
    return add.length > 0 ? transaction.setMeta(key, { add } satisfies Change) : null;
  },
  // A text that is left, or shown as HTML, keeps no places.
  view: (view) => ({ destroy: () => key.getState(view.state)?.find().forEach((one) => (uploadAt(one).awaited = false)) }),
  props: { decorations: (state) => key.getState(state) },
});

/** The state of a text that is shown again later. */
export const withoutPlaces = (state: EditorState): EditorState => state.apply(state.tr.setMeta(key, { clear: true } satisfies Change));

const placeOf = (state: EditorState, id: number): Decoration | undefined => key.getState(state)?.find().find((one) => uploadAt(one).id === id);

/** A picture stands in the text, and another file is a link. */
const shown = ({ attributes }: Resource, picture?: Node): Node =>
  isPicture(attributes)
    ? schema.nodes.image!.create({ ...picture?.attrs, src: lastingAddress(attributes), alt: picture?.attrs.alt ?? textOf(attributes, ALT) }, null, picture?.marks)
    : schema.text(textOf(attributes, 'file_name') || lastingAddress(attributes), [schema.marks.link!.create({ href: lastingAddress(attributes) })]);

/** Several stand in the order in which they were given, though a small one may arrive first. */
async function follow(view: EditorView, upload: Upload, before: Promise<unknown>): Promise<void> {
  const [resource] = await Promise.all([upload.finished, before]);
  const kept = view.isDestroyed ? undefined : placeOf(view.state, upload.id);
  // The text was left, or what was around the place was deleted.
  if (resource && !kept) toasts.show(t('richtext.upload.lost', { name: upload.file.name }), 'plain');
  if (view.isDestroyed) return;
  const transaction = view.state.tr.setMeta(key, { remove: upload.id } satisfies Change);
  if (resource && kept) transaction.insert(kept.from, shown(resource, (kept.spec as Reserved).picture));
  view.dispatch(transaction);
  if (resource) uploads.drop(upload);
}

/** The place in a text that is nearest. Between blocks and beside code, a paragraph is made for it. */
function textAt(view: EditorView, position: number): number {
  const $at = view.state.doc.resolve(position);
  const { parent } = $at;
  if (parent.inlineContent && !parent.type.spec.code) return position;
  const paragraph = schema.nodes.paragraph!.create();
  const between = insertPoint(view.state.doc, parent.inlineContent ? $at.after() : position, paragraph.type);
  if (between === null) return Selection.near($at).from;
  view.dispatch(view.state.tr.insert(between, paragraph));
  return between + 1;
}

/** The library that gets the files, or null after it was said why there is none. */
function libraryForFiles(): Blueprint | null {
  const library = mediaBlueprints(blueprints.all)[0];
  if (library && session.can('create')) return library;
  toasts.show(t(library ? 'error.forbidden' : 'richtext.nolibrary'), 'bad');
  return null;
}

/** Takes files that were dropped or pasted. Returns false if there are none, so that the rest is handled as usual. */
export function takeFiles(view: EditorView, data: DataTransfer | null, position: number): boolean {
  const files = filesOf(data);
  // Word and the like put a picture of the text beside the text.
  if (files.length === 0 || (data && textIn(data.getData('text/html')) !== '')) return false;
  const library = libraryForFiles();
  if (!library) return true;
  const place = textAt(view, position);
  let before: Promise<unknown> = Promise.resolve();
  try {
    for (const upload of uploads.addToForm(library.slug, files)) {
      view.dispatch(view.state.tr.setMeta(key, { add: [{ upload, position: place }] } satisfies Change));
      // One that failed waits for somebody, and does not hold up the others.
      before = Promise.all([before, Promise.race([follow(view, upload, before), upload.failing])]);
    }
  } catch (error) {
    showError(error);
  }
  return true;
}

const textIn = (html: string): string => (html === '' ? '' : (new DOMParser().parseFromString(html, 'text/html').body.textContent ?? '').trim());

/** Pictures that HTML holds itself. SVG is none of them: a page has it in the place of a picture that it loads later. */
const HELD_PICTURE = /^data:(image\/(?:png|jpeg|gif|webp|avif));base64,/i;
/** A shorter address is that of a single pixel, which pages have in the place of such pictures, too. */
const LEAST_CHARACTERS = 160;

export const isHeldPicture = (address: string): boolean => address.length > LEAST_CHARACTERS && HELD_PICTURE.test(address);

/** The picture as the file that a browser would make of it, or null if it is damaged. */
function fileOf(address: string): File | null {
  const [start, type] = HELD_PICTURE.exec(address)!;
  try {
    const bytes = Uint8Array.from(atob(address.slice(start.length)), (one) => one.charCodeAt(0));
    return new File([bytes], `image.${type!.slice('image/'.length).toLowerCase()}`, { type: type!.toLowerCase() });
  } catch {
    return null;
  }
}

/** Says how many pictures of pasted HTML are missing: only the other program can read their files. */
export function sayLost(count: number): void {
  if (count > 0) toasts.show(t('richtext.pictures.lost', { count }), 'bad');
}

/** Uploads the pictures that pasted HTML holds itself. Each takes its place in the text as soon as that is inserted. */
export function takePictures(slice: Slice, view: EditorView): Slice {
  const isHeld = (node: Node): boolean => node.type === schema.nodes.image && isHeldPicture(String(node.attrs.src));
  let held = false;
  slice.content.descendants((node) => void (held ||= isHeld(node)));
  if (!held) return slice;
  const library = libraryForFiles();
  let lost = 0;
  const taken = (picture: Node): Node[] => {
    const file = library && fileOf(String(picture.attrs.src));
    if (!file) return (lost += 1), [];
    const upload = uploads.addToForm(library.slug, [file])[0]!;
    const src = `pasted:${upload.id}`;
    pasted.set(src, upload);
    // One that was not inserted holds up no save.
    void follow(view, upload, Promise.resolve()).finally(() => pasted.delete(src) && (upload.awaited = false));
    return [picture.type.create({ ...picture.attrs, src }, null, picture.marks)];
  };
  const within = (content: Fragment): Fragment => Fragment.from(content.content.flatMap((node) => (isHeld(node) ? taken(node) : node.isLeaf ? [node] : [node.copy(within(node.content))])));
  const content = within(slice.content);
  if (library) sayLost(lost);
  return new Slice(content, slice.openStart, slice.openEnd);
}

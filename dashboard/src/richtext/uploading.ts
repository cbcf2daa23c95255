// Files that are dropped or pasted into a text: each is uploaded, and takes the place that was kept for it meanwhile.
import type { Node } from 'prosemirror-model';
import { Plugin, PluginKey, Selection, type EditorState } from 'prosemirror-state';
import { insertPoint } from 'prosemirror-transform';
import { Decoration, DecorationSet, type EditorView } from 'prosemirror-view';
import { mount, unmount } from 'svelte';
import { blueprints } from '../lib/blueprints.svelte';
import { t } from '../lib/i18n.svelte';
import { ALT, isPicture, lastingAddress, mediaBlueprints, textOf } from '../lib/media';
import { session } from '../lib/session.svelte';
import { showError, toasts } from '../lib/toasts.svelte';
import type { Resource } from '../lib/types';
import { filesOf, uploads, type Upload } from '../lib/uploads.svelte';
import { schema } from './schema';
import UploadPlace from './UploadPlace.svelte';

const key = new PluginKey<DecorationSet>('uploading');

interface Change {
  add?: { upload: Upload; position: number };
  remove?: number;
  clear?: true;
}

const shownPlaces = new WeakMap<globalThis.Node, Record<string, unknown>>();

function place(upload: Upload, position: number): Decoration {
  const draw = (view: EditorView): HTMLElement => {
    const dom = Object.assign(document.createElement('span'), { className: 'uploading', contentEditable: 'false' });
    shownPlaces.set(dom, mount(UploadPlace, { target: dom, props: { upload, done: () => view.focus() } }));
    return dom;
  };
  return Decoration.widget(position, draw, {
    upload, key: String(upload.id), stopEvent: () => true, ignoreSelection: true,
    destroy: (dom) => void unmount(shownPlaces.get(dom) ?? {}),
  });
}

const uploadAt = (place: Decoration): Upload => (place.spec as { upload: Upload }).upload;

/** Keeps the places of files that are on their way, wherever the text around them goes. */
export const uploadPlaces = new Plugin<DecorationSet>({
  key,
  state: {
    init: () => DecorationSet.empty,
    apply(transaction, places) {
      const moved = places.map(transaction.mapping, transaction.doc);
      const { add, remove, clear } = (transaction.getMeta(key) as Change | undefined) ?? {};
      if (clear) return DecorationSet.empty;
      if (add) return moved.add(transaction.doc, [place(add.upload, add.position)]);
      return remove === undefined ? moved : moved.remove(moved.find().filter((one) => uploadAt(one).id === remove));
    },
  },
  // A text that is left, or shown as HTML, keeps no places.
  view: (view) => ({ destroy: () => key.getState(view.state)?.find().forEach((one) => (uploadAt(one).awaited = false)) }),
  props: { decorations: (state) => key.getState(state) },
});

/** The state of a text that is shown again later. */
export const withoutPlaces = (state: EditorState): EditorState => state.apply(state.tr.setMeta(key, { clear: true } satisfies Change));

const placeOf = (state: EditorState, id: number): number | undefined => key.getState(state)?.find().find((one) => uploadAt(one).id === id)?.from;

/** A picture stands in the text, and another file is a link. */
const shown = ({ attributes }: Resource): Node =>
  isPicture(attributes)
    ? schema.nodes.image!.create({ src: lastingAddress(attributes), alt: textOf(attributes, ALT) })
    : schema.text(textOf(attributes, 'file_name') || lastingAddress(attributes), [schema.marks.link!.create({ href: lastingAddress(attributes) })]);

/** Several stand in the order in which they were given, though a small one may arrive first. */
async function follow(view: EditorView, upload: Upload, before: Promise<unknown>): Promise<void> {
  const [resource] = await Promise.all([upload.finished, before]);
  const position = view.isDestroyed ? undefined : placeOf(view.state, upload.id);
  // The text was left, or what was around the place was deleted.
  if (resource && position === undefined) toasts.show(t('richtext.upload.lost', { name: upload.file.name }), 'plain');
  if (view.isDestroyed) return;
  const transaction = view.state.tr.setMeta(key, { remove: upload.id } satisfies Change);
  if (resource && position !== undefined) transaction.insert(position, shown(resource));
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

/** Takes files that were dropped or pasted. Returns false if there are none, so that the rest is handled as usual. */
export function takeFiles(view: EditorView, data: DataTransfer | null, position: number): boolean {
  const files = filesOf(data);
  // Word and the like put a picture of the text beside the text.
  if (files.length === 0 || (data && textIn(data.getData('text/html')) !== '')) return false;
  const library = mediaBlueprints(blueprints.all)[0];
  if (!library || !session.can('create')) {
    toasts.show(t(library ? 'error.forbidden' : 'richtext.nolibrary'), 'bad');
    return true;
  }
  const place = textAt(view, position);
  let before: Promise<unknown> = Promise.resolve();
  try {
    for (const upload of uploads.addToForm(library.slug, files)) {
      view.dispatch(view.state.tr.setMeta(key, { add: { upload, position: place } } satisfies Change));
      // One that failed waits for somebody, and does not hold up the others.
      before = Promise.all([before, Promise.race([follow(view, upload, before), upload.failing])]);
    }
  } catch (error) {
    showError(error);
  }
  return true;
}

const textIn = (html: string): string => (html === '' ? '' : (new DOMParser().parseFromString(html, 'text/html').body.textContent ?? '').trim());

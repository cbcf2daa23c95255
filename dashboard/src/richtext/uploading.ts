// Files that are dropped or pasted into a text: each is uploaded, and takes the place that was kept for it meanwhile.
import type { Node } from 'prosemirror-model';
import { Plugin, PluginKey, Selection, type EditorState } from 'prosemirror-state';
import { insertPoint } from 'prosemirror-transform';
import { Decoration, DecorationSet, type EditorView } from 'prosemirror-view';
import { blueprints } from '../lib/blueprints.svelte';
import { t } from '../lib/i18n.svelte';
import { ALT, isPicture, lastingAddress, mediaBlueprints, textOf } from '../lib/media';
import { session } from '../lib/session.svelte';
import { showError, toasts } from '../lib/toasts.svelte';
import type { Resource } from '../lib/types';
import { filesOf, uploads, type Upload } from '../lib/uploads.svelte';
import { schema } from './schema';

const key = new PluginKey<DecorationSet>('uploading');

interface Change {
  add?: { id: number; position: number };
  remove?: number;
}

function place(id: number, position: number): Decoration {
  const dom = document.createElement('span');
  dom.className = 'uploading';
  dom.textContent = t('media.uploading');
  return Decoration.widget(position, dom, { id, key: String(id) });
}

/** Keeps the places of files that are on their way, wherever the text around them goes. */
export const uploadPlaces = new Plugin<DecorationSet>({
  key,
  state: {
    init: () => DecorationSet.empty,
    apply(transaction, places) {
      const moved = places.map(transaction.mapping, transaction.doc);
      const { add, remove } = (transaction.getMeta(key) as Change | undefined) ?? {};
      if (add) return moved.add(transaction.doc, [place(add.id, add.position)]);
      return remove === undefined ? moved : moved.remove(moved.find(undefined, undefined, (one) => one.id === remove));
    },
  },
  props: { decorations: (state) => key.getState(state) },
});

const placeOf = (state: EditorState, id: number): number | undefined => key.getState(state)?.find(undefined, undefined, (one) => one.id === id)[0]?.from;

/** A picture stands in the text, and another file is a link. */
const shown = ({ attributes }: Resource): Node =>
  isPicture(attributes)
    ? schema.nodes.image!.create({ src: lastingAddress(attributes), alt: textOf(attributes, ALT) })
    : schema.text(textOf(attributes, 'file_name') || lastingAddress(attributes), [schema.marks.link!.create({ href: lastingAddress(attributes) })]);

/** Several stand in the order in which they were given, though a small one may arrive first. */
async function follow(view: EditorView, upload: Upload, before: Promise<void>): Promise<void> {
  const [resource] = await Promise.all([upload.finished, before]);
  if (view.isDestroyed) return;
  const position = placeOf(view.state, upload.id);
  const transaction = view.state.tr.setMeta(key, { remove: upload.id } satisfies Change);
  // The text around it may have been deleted meanwhile: then the file is only in the library.
  if (resource && position !== undefined) transaction.insert(position, shown(resource));
  view.dispatch(transaction);
  if (resource) uploads.drop(upload);
}

/** A failed upload is given up, because nothing in the text could offer to try it again. */
async function giveUpIfFailed(upload: Upload): Promise<void> {
  while (upload.state === 'waiting' || upload.state === 'sending') await new Promise((resolve) => setTimeout(resolve, 100));
  if (upload.state !== 'failed') return;
  toasts.show(`${upload.file.name}: ${upload.fault}`, 'bad');
  uploads.drop(upload);
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
  let before = Promise.resolve();
  try {
    for (const upload of uploads.add(library.slug, files)) {
      view.dispatch(view.state.tr.setMeta(key, { add: { id: upload.id, position: place } } satisfies Change));
      before = follow(view, upload, before);
      void giveUpIfFailed(upload);
    }
  } catch (error) {
    showError(error);
  }
  return true;
}

const textIn = (html: string): string => (html === '' ? '' : (new DOMParser().parseFromString(html, 'text/html').body.textContent ?? '').trim());

// Pictures that are dropped or pasted into a text: each is uploaded, and takes the place that was kept for it meanwhile.
import { Plugin, PluginKey, type EditorState } from 'prosemirror-state';
import { Decoration, DecorationSet, type EditorView } from 'prosemirror-view';
import { blueprints } from '../lib/blueprints.svelte';
import { t } from '../lib/i18n.svelte';
import { ALT, mediaBlueprints, textOf } from '../lib/media';
import { session } from '../lib/session.svelte';
import { showError, toasts } from '../lib/toasts.svelte';
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

/** Keeps the places of pictures that are on their way, wherever the text around them goes. */
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

async function follow(view: EditorView, upload: Upload): Promise<void> {
  const resource = await upload.finished;
  if (view.isDestroyed) return;
  const position = placeOf(view.state, upload.id);
  const transaction = view.state.tr.setMeta(key, { remove: upload.id } satisfies Change);
  // The text around it may have been deleted meanwhile: then the picture is only in the library.
  if (resource && position !== undefined) {
    transaction.insert(position, schema.nodes.image!.create({ src: textOf(resource.attributes, 'url'), alt: textOf(resource.attributes, ALT) }));
  }
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

/** Takes pictures among what was dropped or pasted. Returns false if there are none, so that the rest is handled as usual. */
export function takePictures(view: EditorView, data: DataTransfer | null, position: number): boolean {
  const pictures = filesOf(data).filter((file) => file.type.startsWith('image/'));
  const library = mediaBlueprints(blueprints.all)[0];
  if (pictures.length === 0 || !library || !session.can('create')) return false;
  // Word and the like put a picture of the text beside the text.
  if (data && textIn(data.getData('text/html')) !== '') return false;
  const $position = view.state.doc.resolve(position);
  if (!$position.parent.inlineContent || $position.parent.type.spec.code) return false;
  try {
    for (const upload of uploads.add(library.slug, pictures)) {
      view.dispatch(view.state.tr.setMeta(key, { add: { id: upload.id, position } } satisfies Change));
      void follow(view, upload);
      void giveUpIfFailed(upload);
    }
  } catch (error) {
    showError(error);
  }
  return true;
}

const textIn = (html: string): string => (html === '' ? '' : (new DOMParser().parseFromString(html, 'text/html').body.textContent ?? '').trim());

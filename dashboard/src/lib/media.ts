// Knows which blueprints have media resources, and which attributes describe a file (API.md, Media).
// It must not know how they are shown or uploaded.
import { defaultVariant, fieldOf } from './blueprints.svelte';
import type { Attributes, Blueprint, Field, Json, Resource } from './types';

/** The fields that the server adds to media. */
export const SYSTEM = ['file_name', 'mime', 'bytes', 'width', 'height', 'hash', 'url', 'placeholder', 'focal_x', 'focal_y'];

/** System fields that can be the title of a resource. */
export const TITLES = ['file_name'];

export const isMediaKind = (kind: string | undefined): boolean => kind === 'media';
export const isMedia = (blueprint: Blueprint | undefined): boolean => isMediaKind(blueprint?.kind);

/** A field that only an upload sets, or the focal point: the form does not list them. */
export const isSystemField = (blueprint: Blueprint, field: Field): boolean => isMedia(blueprint) && SYSTEM.includes(field.slug);

/** Texts that a blueprint of media may have, by their usual names. */
export const ALT = 'alt';
export const FOLDER = 'folder';
export const hasAlt = (blueprint: Blueprint): boolean => fieldOf(blueprint, ALT)?.type === 'text';
const FOLDER_TYPES = ['text', 'slug', 'enum'];
export const hasFolders = (blueprint: Blueprint): boolean => FOLDER_TYPES.includes(fieldOf(blueprint, FOLDER)?.type ?? '');

/** The attributes that a thumbnail with its name needs. */
export const shownFields = (blueprint: Blueprint): string[] =>
  ['file_name', 'mime', 'bytes', 'width', 'height', 'url', 'placeholder', ...(hasAlt(blueprint) ? [ALT] : []), ...(hasFolders(blueprint) ? [FOLDER] : [])];

export const textOf = (attributes: Attributes | undefined, name: string): string => String(attributes?.[name] ?? '');
export const isPicture = (attributes: Attributes | undefined): boolean => textOf(attributes, 'mime').startsWith('image/');
export const lacksAlt = (blueprint: Blueprint, { attributes }: Pick<Resource, 'attributes'>): boolean => hasAlt(blueprint) && isPicture(attributes) && attributes[ALT] == null;

/** The type that people know a file by: the ending of its name, or what its media type says. */
export const endingOf = (attributes: Attributes | undefined): string =>
  (/\.([A-Za-z0-9]{1,5})$/.exec(textOf(attributes, 'file_name'))?.[1] ?? textOf(attributes, 'mime').split('/')[1] ?? '').toUpperCase();

/** The address without its version: browsers keep what has one for a year, also once the file is replaced. */
const withoutVersion = (address: string): string => address.replace(/([?&])v=[^&#]*&?/, '$1').replace(/[?&](?=#|$)/, '');

/** The address of a file as values hold it, so that a file that is replaced is replaced wherever it is used. */
export const lastingAddress = (attributes: Attributes | undefined): string => withoutVersion(textOf(attributes, 'url'));

/** An address that a value holds, as it is shown here: one of this server's files below the dashboard's own host, and as it is now. */
export const shownAddress = (address: string): string => (idIn(address) ? ownAddress(withoutVersion(address.trim())) : address);

/** The address below the dashboard's own host: at another one the browser would not send the session. */
export function ownAddress(url: string): string {
  const { pathname, search } = new URL(url, location.href);
  return pathname + search;
}

const SCALED = ['image/jpeg', 'image/png', 'image/webp', 'image/gif', 'image/tiff', 'image/bmp'];
/** Types that a browser shows but the server does not scale. */
const AS_IT_IS = ['image/svg+xml', 'image/avif'];

/** The address of a small picture of a file, or null if there is none. WebP is made faster than AVIF, and a library shows many at once. */
export function thumbnailOf(attributes: Attributes | undefined, width: number): string | null {
  const [url, mime] = [textOf(attributes, 'url'), textOf(attributes, 'mime')];
  if (!url) return null;
  if (AS_IT_IS.includes(mime)) return ownAddress(url);
  if (!SCALED.includes(mime)) return null;
  const address = ownAddress(url);
  return `${address}${address.includes('?') ? '&' : '?'}w=${width}&fit=inside&format=webp`;
}

const ADDRESS = /^(?:https?:\/\/[^/?#]+)?\/media\/([0-9a-f]{8}-[0-9a-f-]{27})\/[^/]*$/;

/** The id in an address of media, or null. The host may be the server's public one, so only a look-up of the id says that it is a file of this server. */
export const idIn = (address: string): string | null => ADDRESS.exec(address.trim().split('?')[0]!)?.[1] ?? null;

/** The description of a picture that is chosen for a place. What was typed there describes the file of that place, and no other one. */
export const descriptionFor = (chosen: Attributes | undefined, address: string, typed: string): string =>
  (withoutVersion(address.trim()) === lastingAddress(chosen) && typed) || textOf(chosen, ALT);

/** The ids in all addresses of media that a text names, such as HTML. */
export const idsIn = (text: string): string[] => [...text.matchAll(/\/media\/([0-9a-f]{8}-[0-9a-f-]{27})\//g)].map((found) => found[1]!);

const TYPES: Record<string, string> = { jpg: 'image/jpeg', jpeg: 'image/jpeg', png: 'image/png', webp: 'image/webp', gif: 'image/gif', svg: 'image/svg+xml', avif: 'image/avif', heic: 'image/heic', heif: 'image/heif', mp4: 'video/mp4', webm: 'video/webm' };

const endOf = (name: string): string => /\.([^.]*)$/.exec(name)?.[1]?.toLowerCase() ?? '';

/** The type of a file before its upload. Not every system knows every ending. */
export const typeOf = (file: File): string => file.type || (TYPES[endOf(file.name)] ?? '');

/** Pictures that the server stores and most browsers do not show. */
export const isUnusual = (mime: string): boolean => /^image\/hei[cf]/.test(mime);

/** What the address of a file of this server says about it; null for an address of another place. */
export function attributesAt(address: string): Attributes | null {
  if (!idIn(address)) return null;
  const name = /([^/]*)$/.exec(address.trim().split('?')[0]!)![1]!;
  let readable = name;
  try {
    readable = decodeURIComponent(name);
  } catch {
    // Stays as it is written.
  }
  return { url: withoutVersion(address.trim()), file_name: readable, mime: TYPES[endOf(name)] ?? '' };
}

/** True for a value that is the address of a file of this server. */
export const namesFile = (field: Field | undefined, value: Json | undefined): value is string =>
  (field?.type === 'image' || field?.type === 'file') && typeof value === 'string' && idIn(value) !== null;

/** The average colour that a thumbhash begins with, as a CSS colour, which is shown until the picture is there. */
export function colourOf(placeholder: string): string {
  let bytes: string;
  try {
    bytes = atob(placeholder);
  } catch {
    return '';
  }
  if (bytes.length < 5) return '';
  const header = bytes.charCodeAt(0) | (bytes.charCodeAt(1) << 8) | (bytes.charCodeAt(2) << 16);
  const [light, yellow, red] = [(header & 63) / 63, ((header >> 6) & 63) / 31.5 - 1, ((header >> 12) & 63) / 31.5 - 1];
  const b = light - (2 / 3) * yellow;
  const r = (3 * light - b + red) / 2;
  const parts = [r, r - red, b].map((part) => Math.round(255 * Math.min(1, Math.max(0, part))));
  return `rgb(${parts.join(' ')})`;
}

/** Blueprints of media, `media` first. */
export const mediaBlueprints = (all: Blueprint[]): Blueprint[] =>
  all.filter(isMedia).sort((a, b) => Number(b.slug === 'media') - Number(a.slug === 'media') || a.name.localeCompare(b.name));

/** The variant of a library that belongs to a variant of something else. Nothing fills its gaps: a text in another language describes nothing here. */
export function variantQuery(blueprint: Blueprint, wanted: string | null): Record<string, string> {
  const main = defaultVariant(blueprint);
  if (!wanted || wanted === main || !blueprint.variants.some((one) => one.slug === wanted)) return {};
  return { variant: wanted };
}

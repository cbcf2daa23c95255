// Slugs made from names.

/** As the server makes the slug of a field: ASCII letters and digits, with `_` between them. */
export const fieldSlug = (name: string): string => clean(name, '_');
/** For addresses: with `-` between the words. */
export const addressSlug = (name: string): string => clean(name, '-');

function clean(name: string, separator: string): string {
  const plain = name.replace(/ß/g, 'ss').replace(/[æÆ]/g, 'ae').replace(/[øØ]/g, 'o').normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  return plain.replace(/[^a-z0-9]+/g, separator).replace(new RegExp(`^[${separator}]+|[${separator}]+$`, 'g'), '');
}

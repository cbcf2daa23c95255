// The height that a text will have, before its editor is loaded, so that nothing below it moves.

/** A line has about so many characters. */
export const LINE_CHARS = 85;
/** A line, and the distance between blocks. */
export const LINE_REM = 1.75;
export const GAP_REM = 0.8;

const BLOCK_END = /<\/(?:p|h[1-6]|li|tr|pre|blockquote|dt|dd|figure)>|<br>|<hr>|\n(?=[^<]*<\/(?:code|pre)>)/;

/** At least the height of an empty editor; the editor shows no more than 75 % of the window without scrolling. */
export function reservedHeight(html: string): string {
  // A longer text fills the window in any case.
  const texts = html.slice(0, 20_000).split(BLOCK_END).map((part) => part.replace(/<[^>]*>?/g, '').replace(/\s+/g, ' ').trim());
  const rem = texts.reduce((sum, text) => sum + (text ? Math.ceil(text.length / LINE_CHARS) * LINE_REM + GAP_REM : 0), 0);
  return `min(75vh, ${Math.max(12, Math.round(rem))}rem)`;
}

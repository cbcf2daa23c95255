// HTML of content as elements that nothing is loaded or run for.

/** Elements that take the place of a property of their form, or of the document, by their name. */
const NAMING = 'button, fieldset, img, input, object, output, select, textarea, embed, form, iframe';

/**
 * The body of a text. What could hide properties of other elements behind its name (`<form><input name="attributes">`) has lost
 * its name and id, so that the elements can be used as usual.
 */
export function parseHtml(html: string): HTMLElement {
  const page = new DOMParser().parseFromString(html, 'text/html');
  const all = Document.prototype.querySelectorAll.call(page, `[name], ${NAMING}`);
  for (const element of all) {
    Element.prototype.removeAttribute.call(element, 'name');
    if (Element.prototype.matches.call(element, NAMING)) Element.prototype.removeAttribute.call(element, 'id');
  }
  return page.querySelector('body') ?? page.createElement('body');
}

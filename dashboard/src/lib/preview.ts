// HTML of content, cut down to what the server's sanitising keeps (API.md 2.4.7), for previews of what is not saved yet. This is
// for a truthful picture: what protects is the sandbox of the frame that shows it.

import { parseHtml } from './inert';
import { shownAddress } from './media';

const TAGS = new Set(
  ('a abbr b bdi bdo blockquote br caption cite code col colgroup dd del details dfn div dl dt em figcaption figure h1 h2 h3 h4 h5 h6 hr i img ins kbd ' +
    'li mark ol p pre q rp rt ruby s samp small source span strong sub summary sup table tbody td tfoot th thead time tr u ul var video wbr ' +
    'address article aside footer header hgroup main nav section').split(' '),
);
const WITH_CONTENT = new Set('applet base embed frame frameset head link math meta noembed noframes noscript object script style svg template title'.split(' '));
const ATTRIBUTES = /^(class|dir|lang|title|id|role|aria-[a-z-]+|href|src|alt|width|height|poster|controls|cite|datetime|open|value|start|type|reversed|span|colspan|rowspan|align|valign|scope)$/;
const ADDRESSES = new Set(['href', 'src', 'poster', 'cite']);

const safe = (address: string): boolean => /^(https?:|mailto:|tel:|[^:]*$|[^:]*[/?#])/i.test(address.replace(/[\u0000-\u0020]/g, ''));

export function previewHtml(html: string): string {
  const body = parseHtml(html);
  for (const element of [...body.querySelectorAll('*')]) {
    const tag = element.localName;
    if (WITH_CONTENT.has(tag)) element.remove();
    else if (tag === 'iframe') element.replaceWith(`▶ ${element.getAttribute('src') ?? ''}`);
    else if (!TAGS.has(tag)) element.replaceWith(...element.childNodes);
    else {
      for (const { name, value } of [...element.attributes]) {
        if (!ATTRIBUTES.test(name) || (ADDRESSES.has(name) && !safe(value))) element.removeAttribute(name);
        else if (name === 'src' || name === 'poster') element.setAttribute(name, shownAddress(value));
      }
    }
  }
  return body.innerHTML;
}

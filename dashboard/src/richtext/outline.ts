// Compares two texts by what can be seen of them. The editor may change white space between blocks and the nesting of marks, and
// nothing else.

/** Elements within a line. */
const INLINE = new Set(
  'a abbr b bdi bdo cite code del dfn em i ins kbd mark q rp rt ruby s samp small span strong sub sup time u var'.split(' '),
);

const signature = (element: Element): string => {
  // The server sets `rel` itself.
  const attributes = [...element.attributes].filter((one) => one.name !== 'rel').map((one) => `${one.name}=${one.value}`);
  return [element.tagName.toLowerCase(), ...attributes.sort()].join(' ');
};

/** A text as a list: blocks with their attributes, and runs of text with the marks around them. */
function outline(root: Element): string[] {
  const found: string[] = [];
  let run = { marks: '', text: '', pre: false };
  const flush = (): void => {
    const text = run.pre ? run.text : run.text.replace(/\s+/g, ' ').trim();
    if (text) found.push(`"${text}" ${run.marks}`);
    run = { marks: '', text: '', pre: false };
  };
  const walkText = (text: string, marks: string[], pre: boolean): void => {
    if (!text.trim() && !pre && run.text === '') return;
    const now = [...marks].sort().join('|');
    if (now !== run.marks && (text.trim() || pre)) {
      flush();
      run.marks = now;
    }
    run.text += text;
    run.pre = pre;
  };
  const walk = (node: globalThis.Node, marks: string[], pre: boolean): void => {
    if (node.nodeType === 3) return walkText(node.textContent ?? '', marks, pre);
    if (node.nodeType !== 1) return;
    const element = node as Element;
    const tag = element.tagName.toLowerCase();
    if (INLINE.has(tag)) return element.childNodes.forEach((child) => walk(child, [...new Set([...marks, signature(element)])], pre));
    flush();
    found.push(`<${signature(element)}>`);
    element.childNodes.forEach((child) => walk(child, marks, pre || tag === 'pre'));
    flush();
    found.push(`</${tag}>`);
  };
  root.childNodes.forEach((child) => walk(child, [], false));
  flush();
  return found;
}

export function looksSame(one: Element, other: Element): boolean {
  const [before, after] = [outline(one), outline(other)];
  return before.length === after.length && before.every((line, index) => line === after[index]);
}

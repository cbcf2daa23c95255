// Arrow keys in a grid of links or buttons.

/** Moves the focus, if the event is an arrow key, and returns whether it is. The places in the grid are those on the screen. */
export function moveInGrid(event: KeyboardEvent, stops: HTMLElement[], at: number): boolean {
  const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 0, ArrowUp: 0 }[event.key];
  if (step === undefined || event.ctrlKey || event.metaKey || event.altKey || stops.length === 0) return false;
  event.preventDefault();
  const here = stops[at];
  if (!here) {
    stops[0]!.focus();
    return true;
  }
  stops[step === 0 ? rowBeyond(stops, here, event.key === 'ArrowDown') : Math.min(stops.length - 1, Math.max(0, at + step))]?.focus();
  return true;
}

/** The stop in the next row, or in the one before, that is nearest. */
function rowBeyond(stops: HTMLElement[], here: HTMLElement, down: boolean): number {
  const box = here.getBoundingClientRect();
  const places = stops.map((stop, index) => ({ index, box: stop.getBoundingClientRect() }));
  const beyond = places.filter((one) => (down ? one.box.top > box.top + 1 : one.box.top < box.top - 1));
  const distance = (one: { box: DOMRect }): number => Math.abs(one.box.top - box.top) * 10_000 + Math.abs(one.box.left - box.left);
  return beyond.sort((a, b) => distance(a) - distance(b))[0]?.index ?? stops.indexOf(here);
}

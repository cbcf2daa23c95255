// Where the focus goes on when what had it is gone. It must not know any component.
import { tick } from 'svelte';

/** What had the focus was removed with the element around it: one goes on at the heading of the screen. */
export async function focusHeading(): Promise<void> {
  await tick();
  if (document.activeElement !== document.body) return;
  const heading = document.querySelector<HTMLElement>('#screen h1');
  if (heading) heading.tabIndex = -1;
  (heading ?? document.getElementById('screen'))?.focus({ preventScroll: true });
}

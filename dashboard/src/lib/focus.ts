// Where the focus goes on when what had it is gone. It must not know any component.
import { tick } from 'svelte';

/** Rows below those in sight are drawn a little later. */
const FRAMES = 10;

/** Scrolls to the row of the entry that was left, and focuses it, unless something else has the focus. */
export async function focusRow(address: string): Promise<void> {
  await tick();
  for (let frame = 0; frame < FRAMES && document.activeElement === document.body; frame++) {
    const link = [...document.querySelectorAll<HTMLAnchorElement>('#screen a')].find((one) => one.pathname === address);
    link?.scrollIntoView({ block: 'center' });
    link?.focus({ preventScroll: true });
    await new Promise(requestAnimationFrame);
  }
}

/** What had the focus was removed with the element around it: one goes on at the heading of the screen. */
export async function focusHeading(): Promise<void> {
  await tick();
  if (document.activeElement !== document.body) return;
  const heading = document.querySelector<HTMLElement>('#screen h1');
  if (heading) heading.tabIndex = -1;
  (heading ?? document.getElementById('screen'))?.focus({ preventScroll: true });
}

// Values that an input has not handed over yet, because that takes long and somebody is typing. Whoever is about to read the
// values calls `handOver` first.

const waiting = new Set<() => void>();

/** The function that hands over is called once, by `handOver` or by whoever registered it. */
export const awaitHandOver = (run: () => void): void => void waiting.add(run);
export const handedOver = (run: () => void): void => void waiting.delete(run);

export function handOver(): void {
  for (const run of [...waiting]) run();
}

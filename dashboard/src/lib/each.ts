// Requests of which each is about one resource, some beside each other.

const AT_ONCE = 4;

/** Does something with each of these. Returns the errors by the key of the one that failed. */
export async function withEach<T>(items: T[], keyOf: (one: T) => string, work: (one: T) => Promise<unknown>): Promise<Map<string, unknown>> {
  const failed = new Map<string, unknown>();
  const rest = [...items];
  const worker = async (): Promise<void> => {
    for (let one = rest.shift(); one !== undefined; one = rest.shift()) {
      const key = keyOf(one);
      await work(one).catch((error: unknown) => failed.set(key, error));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return failed;
}

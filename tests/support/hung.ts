/**
 * How long something in a test may take before it counts as hung, in milliseconds: the one bound on time that tests know. What
 * takes seconds may take minutes at the lowest priority beside others, and must not fail for it.
 */
export const HUNG_MS = 60 * 60_000;

/** Asks until the answer is true, every few milliseconds. Rejects with `what` when it never becomes so. */
export async function until(what: () => string, ask: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + HUNG_MS;
  while (!(await ask())) {
    if (performance.now() > end) throw new Error(what());
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/**
 * After how many milliseconds something in a test counts as hung: the only time limit that tests use. At the lowest
 * priority on a busy machine, what takes seconds may take minutes and must not fail.
 */
export const HUNG_MS = 60 * 60_000;

/** Polls every few milliseconds until the answer is true. Rejects with `what` if it never is. */
export async function until(what: () => string, ask: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + HUNG_MS;
  while (!(await ask())) {
    if (performance.now() > end) throw new Error(what());
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

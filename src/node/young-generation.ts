import { PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** Bytes of the young generation, of which half are in use between two collections. */
const ENOUGH = 8e6;

/**
 * Stops the growth of this thread's young generation at 8 MB, from where V8 would go on to 32: a server that runs for weeks gains
 * nothing from the rest. Threads that start workers limit those when they start them; a thread that runs can only be kept from growing, and
 * too small a young generation makes long-lived garbage of what would have died in it, so it grows this far first.
 */
export function limitYoungGeneration(): void {
  const observer = new PerformanceObserver(() => {
    if (youngGeneration() < ENOUGH) return;
    setFlagsFromString('--semi-space-growth-factor=1');
    observer.disconnect();
  });
  observer.observe({ entryTypes: ['gc'] });
}

/** Its size in bytes. */
export function youngGeneration(): number {
  return getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')?.space_size ?? 0;
}

import { fail } from '../base/errors.ts';
import { MemoryBudget } from '../device/index.ts';

/** Fraction of the available memory that may be pinned, since pinned pages are unavailable to everything else. */
const SHARE = 0.5;

/** Host memory that may be pinned, counted jointly by the threads of the process. */
export interface SharedHostMemory {
  readonly total: number;
  /** Shared memory: one word, the bytes in use. */
  readonly used: BigInt64Array;
}

let shared: SharedHostMemory | undefined;

/** Half of what is available when the first model needs it: the system still counts pinned pages as available. */
export function sharedHostMemory(): SharedHostMemory {
  shared ??= {
    total: Math.floor(SHARE * process.availableMemory()),
    used: new BigInt64Array(new SharedArrayBuffer(8)),
  };
  return shared;
}

/** Makes this thread use another thread's count. Must be called before this thread has its own. */
export function shareHostMemory(memory: SharedHostMemory): void {
  shared = memory;
}

/**
 * The budget of pinned host memory for a model's streamed layers: `bytes` of its own or, by default, what all models of
 * the process share. Throws `INVALID_ARGUMENT` for an invalid number of bytes.
 */
export function hostMemoryOf(bytes: number | undefined): MemoryBudget {
  if (bytes === undefined) {
    const { total, used } = sharedHostMemory();
    return new MemoryBudget('host', total, used);
  }
  if (Number.isSafeInteger(bytes) && bytes >= 0) return new MemoryBudget('host', bytes);
  return fail('INVALID_ARGUMENT', { name: 'hostMemory', found: String(bytes), expected: 'a count of bytes' });
}

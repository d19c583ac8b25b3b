import { fail } from '../base/errors.ts';
import { MemoryBudget } from '../device/index.ts';

/** Of the memory that is available, what may be pinned: pinned pages are lost to everybody else. */
const SHARE = 0.5;

let shared: MemoryBudget | undefined;

/**
 * Host memory that may stay pinned for a model's streamed layers: so many bytes of its own, or, where none are said, half of
 * what is available when the first model asks, for all models of the process together: the system goes on counting pinned
 * pages as available. Throws `INVALID_ARGUMENT` for what is no count of bytes.
 */
export function hostMemoryOf(bytes: number | undefined): MemoryBudget {
  if (bytes === undefined) {
    shared ??= new MemoryBudget('host', Math.floor(SHARE * process.availableMemory()));
    return shared;
  }
  if (Number.isSafeInteger(bytes) && bytes >= 0) return new MemoryBudget('host', bytes);
  return fail('INVALID_ARGUMENT', { name: 'hostMemory', found: String(bytes), expected: 'a count of bytes' });
}

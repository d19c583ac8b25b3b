import { alignUp } from '../../../base/bytes.ts';
import { type MemoryRules, memoryRules } from '../../../device/index.ts';

const MIB = 2 ** 20;

/** The driver's unit: what it maps at once. Smaller allocations share one. */
const PAGE_BYTES = 2 * MIB;
/** Larger allocations have units of their own. */
const MAX_SHARED = MIB;
/** What small allocations are rounded to. */
const SMALL_BYTES = 512;
/** Captured graphs, and code that is loaded late: once for all models that a process runs. */
const OWN_BYTES = 8 * MIB;

/** How CUDA gives out memory, as measured on an H200; HIP is planned for alike. */
export const HIP_CUDA_MEMORY: MemoryRules = memoryRules({
  footprint: (byteLengths) => {
    let large = 0;
    let small = 0;
    for (const bytes of byteLengths) {
      if (bytes > MAX_SHARED) large += alignUp(bytes, PAGE_BYTES);
      else small += alignUp(Math.max(1, bytes), SMALL_BYTES);
    }
    return large + alignUp(small, PAGE_BYTES);
  },
  own: () => OWN_BYTES,
  waiting: (streams, chunkBytes) => Array.from({ length: streams }, () => chunkBytes),
  pinnedInside: () => false,
});

/** The same for a device that has run a model before. */
export const HIP_CUDA_MEMORY_WARM: MemoryRules = { ...HIP_CUDA_MEMORY, own: () => 0 };

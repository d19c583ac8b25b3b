import { alignUp } from '../../../base/bytes.ts';
import { type MemoryRules, memoryRules } from '../../../device/index.ts';

const MIB = 2 ** 20;

/** The driver's allocation unit. Smaller allocations share one. */
const PAGE_BYTES = 2 * MIB;
/** Larger allocations have their own units. */
const MAX_SHARED = MIB;
/** Small allocations are rounded up to multiples of this. */
const SMALL_BYTES = 512;
/** Captured graphs, and code that is loaded late: once per process, for all models. */
const OWN_BYTES = 8 * MIB;

/** How CUDA allocates memory, as measured on an H200; HIP is planned alike. */
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

/** The same for a device that has already run a model. */
export const HIP_CUDA_MEMORY_WARM: MemoryRules = { ...HIP_CUDA_MEMORY, own: () => 0 };

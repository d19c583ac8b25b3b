import { alignUp } from '../../../base/bytes.ts';
import { type MemoryRules, memoryRules, totalOf } from '../../../device/index.ts';
import { HEADER_BYTES } from './mapped-pinned.ts';

const MIB = 2 ** 20;

/** Dawn places buffers below this size, each rounded up to a power of two, in heaps of twice that size. */
const MAX_SHARED = 4 * MIB;
const HEAP_BYTES = 2 * MAX_SHARED;
/** The size of a buffer with its own memory is rounded up to this. */
const UNIT_BYTES = 64 * 1024;
/**
 * Other memory: the 4 MiB through which Dawn writes small inputs, readbacks, the rounding of mapped slots, and Vulkan's
 * command buffers as observed on an H200.
 */
const OWN_BYTES = 5.25 * MIB;
/**
 * What Vulkan was observed to allocate on an H200 when the first weights of a process are loaded, for all its devices.
 */
const ONCE_BYTES = 4 * MIB;

/**
 * Buffers from which packing kernels read, used alternately: a copy into one need not wait for the kernel that reads
 * the other.
 */
export const PACK_SOURCES = 2;

/**
 * Bytes of a buffer for packing kernels, given the size of the mapped memory that is handed over. It depends on that
 * size, not on the contents: a buffer that grew with the contents would be reallocated repeatedly, in an unpredictable
 * order.
 */
export function packSourceBytes(mappedBytes: number): number {
  return alignUp(HEADER_BYTES + mappedBytes, UNIT_BYTES);
}

/** What the devices of one implementation in one process share. */
export interface SharedGpu {
  /** Whether weights have been loaded onto one of them. */
  hasLoaded: boolean;
}

/** How Dawn allocates memory over Vulkan, as measured on an H200; other implementations are planned alike. */
export function webGpuMemory(largestBuffer: number, { hasLoaded }: SharedGpu): MemoryRules {
  return memoryRules({
    own: (byteLengths) => OWN_BYTES + (hasLoaded ? 0 : ONCE_BYTES) + rounding(byteLengths),
    waiting: (_streams, chunkBytes) =>
      Array.from({ length: PACK_SOURCES }, () => packSourceBytes(chunkBytes)),
    largestBuffer,
    // Inputs are in the process's own memory until they are written.
    pinnedInside: (use) => use === 'weights',
  });
}

/** The unused parts of Dawn's heaps. */
function rounding(byteLengths: readonly number[]): number {
  let taken = 0;
  let shared = 0;
  for (const bytes of byteLengths) {
    if (bytes >= MAX_SHARED) taken += alignUp(bytes, UNIT_BYTES);
    else shared += 2 ** Math.ceil(Math.log2(Math.max(1, bytes)));
  }
  return taken + alignUp(shared, HEAP_BYTES) - totalOf(byteLengths);
}

import { alignUp } from '../../../base/bytes.ts';
import { type MemoryRules, memoryRules, totalOf } from '../../../device/index.ts';
import { HEADER_BYTES } from './mapped-pinned.ts';

const MIB = 2 ** 20;

/** Dawn puts buffers below this size, each rounded up to a power of two, into heaps of twice as much. */
const MAX_SHARED = 4 * MIB;
const HEAP_BYTES = 2 * MAX_SHARED;
/** What a buffer with memory of its own is rounded to. */
const UNIT_BYTES = 64 * 1024;
/**
 * What is taken besides: the 4 MiB that Dawn writes small inputs through, results on their way back, what mapped slots are
 * rounded by, and Vulkan's commands as seen on an H200.
 */
const OWN_BYTES = 5.25 * MIB;
/** What Vulkan was seen to take on an H200 when the first weights of a process come, for all its devices. */
const ONCE_BYTES = 4 * MIB;

/** Buffers that packing kernels read, used in turn: a copy into one need not wait for the kernel that reads the one before. */
export const PACK_SOURCES = 2;

/**
 * Bytes of a buffer that packing kernels read what was handed over in mapped memory of this size from. Told by the memory, not
 * by what is in it: a buffer that grew with what comes would take its place again each time, in an order that nobody can plan.
 */
export function packSourceBytes(mappedBytes: number): number {
  return alignUp(HEADER_BYTES + mappedBytes, UNIT_BYTES);
}

/** What the devices of one implementation in one process have in common. */
export interface SharedGpu {
  /** Weights have come to one of them. */
  hasLoaded: boolean;
}

/** How Dawn gives out memory over Vulkan, as measured on an H200; other implementations are planned for alike. */
export function webGpuMemory(largestBuffer: number, { hasLoaded }: SharedGpu): MemoryRules {
  return memoryRules({
    own: (byteLengths) => OWN_BYTES + (hasLoaded ? 0 : ONCE_BYTES) + rounding(byteLengths),
    waiting: (_streams, chunkBytes) =>
      Array.from({ length: PACK_SOURCES }, () => packSourceBytes(chunkBytes)),
    largestBuffer,
    // Inputs are the process's own memory until they are written.
    pinnedInside: (use) => use === 'weights',
  });
}

/** What Dawn's heaps leave unused. */
function rounding(byteLengths: readonly number[]): number {
  let taken = 0;
  let shared = 0;
  for (const bytes of byteLengths) {
    if (bytes >= MAX_SHARED) taken += alignUp(bytes, UNIT_BYTES);
    else shared += 2 ** Math.ceil(Math.log2(Math.max(1, bytes)));
  }
  return taken + alignUp(shared, HEAP_BYTES) - totalOf(byteLengths);
}

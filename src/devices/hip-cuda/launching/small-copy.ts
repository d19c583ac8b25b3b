import type { Address } from '../../../device/index.ts';
import { i32, type KernelLaunch, type KernelModule, pointer } from './launch.ts';

/** The kernel that copies few words between a device and pinned memory. */
export const SMALL_COPY: KernelModule = { file: 'small-copy.hip', defines: {} };

/** Most bytes of such a copy: the link is faster with larger ones through the copy engines. */
const MAX_BYTES = 16 << 10;
const WORD = 4;
const THREADS = 256;

/** Whether the kernel takes a copy of so many bytes between these addresses. */
export function isSmallCopy(to: Address, from: Address, bytes: number): boolean {
  return bytes <= MAX_BYTES && bytes % WORD === 0 && to % WORD === 0 && from % WORD === 0;
}

export function smallCopy(to: Address, from: Address, bytes: number): KernelLaunch {
  const words = bytes / WORD;
  return {
    kind: 'kernel',
    module: SMALL_COPY,
    kernel: 'small_copy',
    grid: [Math.ceil(words / THREADS), 1, 1],
    block: [THREADS, 1, 1],
    sharedBytes: 0,
    args: [pointer(to), pointer(from), i32(words)],
  };
}

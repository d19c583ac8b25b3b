import assert from 'node:assert/strict';
import type { HipCudaTarget } from '../../../src/devices/hip-cuda/index.ts';

/**
 * The AMD GPUs that kernels are compiled for: the wave size, and the number of processors of a card with the
 * instruction set.
 */
const CARDS: Readonly<Record<string, { readonly waveSize: 32 | 64; readonly multiprocessors: number }>> = {
  gfx906: { waveSize: 64, multiprocessors: 60 },
  gfx90a: { waveSize: 64, multiprocessors: 110 },
  gfx942: { waveSize: 64, multiprocessors: 304 },
  gfx1030: { waveSize: 32, multiprocessors: 40 },
  gfx1100: { waveSize: 32, multiprocessors: 48 },
  gfx1151: { waveSize: 32, multiprocessors: 20 },
  gfx1201: { waveSize: 32, multiprocessors: 32 },
};

/** The targets as the lowering sees them. */
export const AMD_TARGETS: readonly HipCudaTarget[] = Object.entries(CARDS).map(([name, card]) => ({
  ...card,
  api: 'hip',
  vendor: 'amd',
  name,
  maxThreadsPerBlock: 1024,
  sharedBytesOptIn: 65_536,
  l2Bytes: 4 << 20,
  programmatic: false,
  blas: true,
}));

/** The target with this name, which must be in the list. */
export function amdTarget(name: string): HipCudaTarget {
  const target = AMD_TARGETS.find((known) => known.name === name);
  assert.ok(target, name);
  return target;
}

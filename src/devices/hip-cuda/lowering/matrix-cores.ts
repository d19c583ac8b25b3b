import { HOPPER } from '../launching/compile-options.ts';
import type { HipCudaTarget } from '../launching/kernel-set.ts';

/** The layout of a wave's fragments in `matrix.h` on a target. */
export interface MatrixCores {
  /** Lanes that share a fragment. */
  readonly lanes: number;
  /** Registers per lane for its part of 16 lines of 32 f16. */
  readonly fragmentWords: number;
  /** Registers per lane for its part of 16 x 16 sums. */
  readonly sumWords: number;
  /**
   * Maximum registers for fragments and sums that live throughout a loop, so that the rest of the kernel has enough.
   */
  readonly heldWords: number;
}

/** By instruction set, in `prelude-amd.h`'s order; RDNA 3 holds each half of a fragment twice. */
const AMD: readonly (readonly [pattern: RegExp, cores: MatrixCores])[] = [
  [/^gfx11(?:0[0-3]|5[0-2])$/, { lanes: 32, fragmentWords: 16, sumWords: 8, heldWords: 144 }],
  [/^gfx120[01]$/, { lanes: 32, fragmentWords: 8, sumWords: 8, heldWords: 144 }],
  [/^gfx9(?:08|0a|40|42)$/, { lanes: 64, fragmentWords: 4, sumWords: 4, heldWords: 144 }],
];

const NVIDIA: MatrixCores = { lanes: 32, fragmentWords: 8, sumWords: 8, heldWords: 192 };

/** The target's matrix cores; undefined if lanes exchange the lines that they multiply. */
export function matrixCores({ vendor, name }: HipCudaTarget): MatrixCores | undefined {
  if (vendor === 'nvidia') return NVIDIA;
  return AMD.find(([pattern]) => pattern.test(name))?.[1];
}

/** Whether a target has products of warpgroups, which Hopper alone has. */
export function hasWarpgroups({ name }: Pick<HipCudaTarget, 'name'>): boolean {
  return name === HOPPER;
}

/** Lanes of a wave that works on a matrix fragment, on matrix cores or without: `MATRIX_LANES` of `matrix.h`. */
export function matrixLanes(target: HipCudaTarget): number {
  return matrixCores(target)?.lanes ?? 32;
}

import type { HipCudaTarget } from '../launching/kernel-set.ts';

/** What `matrix.h` makes of a wave's fragments on a target. */
export interface MatrixCores {
  /** Lanes that work on a fragment. */
  readonly lanes: number;
  /** Registers of a lane that hold its share of 16 lines of 32 halves. */
  readonly fragmentWords: number;
  /** Registers of a lane that hold its share of 16 x 16 sums. */
  readonly sumWords: number;
  /** Registers that fragments and sums may hold throughout a loop, so that the rest of the kernel has enough. */
  readonly heldWords: number;
}

/** By instruction set, in `prelude-amd.h`'s order; RDNA 3 holds each half of a fragment twice. */
const AMD: readonly (readonly [pattern: RegExp, cores: MatrixCores])[] = [
  [/^gfx11(?:0[0-3]|5[0-2])$/, { lanes: 32, fragmentWords: 16, sumWords: 8, heldWords: 144 }],
  [/^gfx120[01]$/, { lanes: 32, fragmentWords: 8, sumWords: 8, heldWords: 144 }],
  [/^gfx9(?:08|0a|40|42)$/, { lanes: 64, fragmentWords: 4, sumWords: 4, heldWords: 144 }],
];

const NVIDIA: MatrixCores = { lanes: 32, fragmentWords: 8, sumWords: 8, heldWords: 192 };

/** The target's matrix cores; undefined where lanes ask one another for the lines they multiply. */
export function matrixCores({ vendor, name }: HipCudaTarget): MatrixCores | undefined {
  if (vendor === 'nvidia') return NVIDIA;
  return AMD.find(([pattern]) => pattern.test(name))?.[1];
}

/** Lanes of a wave that works on a matrix fragment, on matrix cores or without: `MATRIX_LANES` of `matrix.h`. */
export function matrixLanes(target: HipCudaTarget): number {
  return matrixCores(target)?.lanes ?? 32;
}

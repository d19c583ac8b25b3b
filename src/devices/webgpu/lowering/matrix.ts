import { invariant } from '../../../base/errors.ts';
import type { Weight } from '../../../ops/index.ts';
import { DENSE_WEIGHT4, PACKED_WEIGHT4 } from '../kernels/weights.ts';
import type { Constant } from '../launching/kernel-module.ts';
import { GROUP_LAYOUT, groupFormat, groupPlaces } from './group-layout.ts';
import { type Argument, read } from './launch-plan.ts';
import type { Lowering } from './lowering.ts';
import { groupConstants, packedFormat, packedTexts } from './packed-formats.ts';
import type { WebGpuWeight, WeightChunk } from './webgpu-weight.ts';
import { DENSE_LAYOUT, denseStride, denseType } from './weight-layout.ts';

/** Weights one below the other, and what a kernel needs to read them. */
export interface Matrix {
  readonly weight: WebGpuWeight;
  /** True where they are groups of quants, which kernels may multiply as integers. */
  readonly packed: boolean;
  /** `weight4(row, quad)` and what it wants. */
  readonly texts: readonly string[];
  readonly constants: Readonly<Record<string, Constant>>;
  /** A chunk as the argument `weight`. */
  argument(chunk: WeightChunk): Argument;
}

/** The matrix of weights of one format and width. */
export function matrixOf(parts: readonly Weight[], to: Lowering): Matrix {
  const [first] = parts;
  invariant(first, 'a matrix has a part');
  return packedFormat(first.format) ? packedMatrix(parts, to) : denseMatrix(parts, to);
}

function packedMatrix(parts: readonly Weight[], to: Lowering): Matrix {
  const format = groupFormat(parts[0]);
  const weight = to.weight(parts, GROUP_LAYOUT);
  return {
    weight,
    packed: true,
    texts: [...packedTexts(format, to.target), PACKED_WEIGHT4],
    constants: {
      GROUPS: (parts[0]?.columns ?? 0) / 32,
      ...groupConstants(format),
      ...groupPlaces(parts, weight.chunks[0] as WeightChunk),
    },
    argument: (chunk) => read({ kind: 'chunk', weight, chunk }, 'array<vec4<u32>>'),
  };
}

function denseMatrix(parts: readonly Weight[], to: Lowering): Matrix {
  const weight = to.weight(parts, DENSE_LAYOUT);
  const [first] = parts as [Weight];
  return {
    weight,
    packed: false,
    texts: DENSE_WEIGHT4[denseType(first)],
    constants: { STRIDE: denseStride(first) / 4 },
    argument: (chunk) => read({ kind: 'chunk', weight, chunk }, 'array<vec4<u32>>'),
  };
}

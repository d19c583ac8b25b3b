import type { Tensor, Weight } from '../../../ops/index.ts';
import type { GpuTarget } from '../gpu-target.ts';
import { ADDENDS, FINISH_FLOATS } from '../kernels/finish.ts';
import { GROUP_PRODUCT } from '../kernels/group-product.ts';
import { reduceText } from '../kernels/library/reduce.ts';
import { loopFor } from '../kernels/library/loop.ts';
import {
  DENSE_PRODUCT,
  MATVEC,
  packedProductText,
  ROWS_IN_ORDER,
  X4_ALIGNED,
  X4_UNALIGNED,
} from '../kernels/matvec.ts';
import type { Wgsl } from '../kernels/library/wgsl.ts';
import type { Constant } from '../launching/kernel-module.ts';
import type { ProductInput } from './activations.ts';
import { type Argument, read } from './launch-plan.ts';
import type { Lowering } from './lowering.ts';
import { type Matrix, matrixOf } from './matrix.ts';
import { rowBucket } from './matvec-shape.ts';
import type { WeightChunk } from './webgpu-weight.ts';

const THREADS = 256;
/** Threads that multiply a row. */
const TEAM = 32;
/** Groups of a row that a thread loads ahead; more take registers that other workgroups would have. */
const MOST_AHEAD = 4;
/** Outputs of a workgroup: a group's elements, so that a workgroup can quantize what it computes. */
export const OUTPUTS_A_GROUP = 32;
/** Where few outputs would leave processors without work. */
const OUTPUTS_A_SMALL_GROUP = 8;
const FEW_OUTPUTS = 8192;

/** What becomes of the sums: arguments, texts (`finish` and `row_of` among them) and constants of the kernel. */
export interface Finish {
  readonly args: Readonly<Record<string, Argument>>;
  readonly texts: readonly Wgsl[];
  readonly constants: Readonly<Record<string, Constant>>;
}

/** A product over weights that lie one below the other; `parts` of them are multiplied side by side. */
export interface Matvec {
  readonly name: string;
  readonly x: Tensor;
  readonly weights: readonly Weight[];
  readonly parts: 1 | 2;
  /** What becomes of a chunk's sums. Results that others build on come in workgroups of 32. */
  finish(chunk: WeightChunk): Finish;
  readonly whole: boolean;
}

export function launchMatvec(to: Lowering, of: Matvec): void {
  const matrix = matrixOf(of.weights, to);
  const capacity = to.capacity(of.x);
  for (const chunk of matrix.weight.chunks) {
    const finish = of.finish(chunk);
    const taken = storageOf(finish.args) + 1;
    const input = inputOf(to, of.x, { matrix, buffers: to.target.storageBindings - taken });
    const rows = chunk.rowCount / of.parts;
    const outputs = of.whole || rows > FEW_OUTPUTS ? OUTPUTS_A_GROUP : OUTPUTS_A_SMALL_GROUP;
    to.launch({
      name: of.name,
      texts: [
        MATVEC,
        reduceText(to.target, { team: TEAM, threads: THREADS }),
        ...matrix.texts,
        ...input.texts,
        ...finish.texts,
      ],
      constants: {
        THREADS,
        COUNT: to.countOf(of.x),
        CAPACITY: capacity,
        ROWS: rowBucket(capacity),
        OUTPUTS: outputs,
        PARTS: of.parts,
        PART_ROWS: rows,
        ...matrix.constants,
        ...input.constants,
        ...finish.constants,
      },
      args: { counts: to.counts, weight: matrix.argument(chunk), ...input.args, ...finish.args },
      grid: [Math.ceil(rows / outputs)],
    });
  }
}

function storageOf(args: Finish['args']): number {
  return Object.values(args).filter(({ access }) => access !== 'uniform').length;
}

/** Activations quantized for integer products, as they are for others. */
function inputOf(
  to: Lowering,
  x: Tensor,
  { matrix, buffers }: { matrix: Matrix; buffers: number },
): ProductInput {
  if (!matrix.packed) {
    const dense = denseInput(x);
    return { ...dense, texts: [DENSE_PRODUCT, ...dense.texts] };
  }
  const input = to.activations.input(x, buffers);
  return { ...input, texts: [...packedProduct(x.width, to.target), ...input.texts] };
}

/** Integer products of rows of so many columns: `load_ahead` and `row_product`. */
export function packedProduct(columns: number, target: GpuTarget): readonly string[] {
  const rounds = Math.ceil(columns / 32 / TEAM);
  const ahead = target.unroll ? Math.min(MOST_AHEAD, rounds) : 1;
  return [packedProductText({ rounds, ahead }, loopFor(target)), GROUP_PRODUCT];
}

/** Activations four at a time: `x4(row, quad)`. */
export function denseInput(x: Tensor): ProductInput {
  const aligned = x.width % 4 === 0;
  return {
    args: { x: read(x, aligned ? 'array<vec4<f32>>' : 'array<f32>') },
    texts: [aligned ? X4_ALIGNED : X4_UNALIGNED],
    constants: { QUADS: Math.ceil(x.width / 4), COLUMNS: x.width },
  };
}

/** Sums stored as f32, with a bias or another tensor added to them. */
export function finishFloats(of: {
  y: Argument;
  width: number;
  addend?: Argument | undefined;
  kind: keyof typeof ADDENDS;
}): Matvec['finish'] {
  return (chunk) => ({
    args: { ...(of.addend ? { addend: of.addend } : {}), y: of.y },
    texts: [FINISH_FLOATS, ADDENDS[of.kind], ROWS_IN_ORDER],
    constants: { WIDTH: of.width, FIRST_ROW: chunk.firstRow },
  });
}

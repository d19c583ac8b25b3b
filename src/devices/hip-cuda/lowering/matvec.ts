import type { Tensor, Weight } from '../../../ops/index.ts';
import type { Operand } from './launch-plan.ts';
import { float, int, NULL } from './launch-template.ts';
import type { Lowering } from './lowering.ts';
import { canStage, quantizedBytes, rowBucket } from './matvec-shape.ts';
import { packedFile } from './packed-formats.ts';
import { GROUP_LAYOUT } from './weight-layout.ts';

const OUTPUTS_A_BLOCK = 32;
/** Where whole blocks are too few for the processors. */
const OUTPUTS_A_SMALL_BLOCK = 16;
const THREADS = 256;

/** What a matrix-vector kernel makes of its sums; the numbers are `matvec.hip`'s. */
export const MATVEC_OUTPUT = { floats: 0, residual: 1, gated: 2, gatedQuantized: 3, heads: 4 } as const;

/** Where a matrix-vector kernel finds its activations; the numbers are the kernels'. */
export const INPUT_CODES = { quantized: 0, floats: 1, normed: 2 } as const;

/** A product over weights that lie one below the other; `x` tells the rows, `outputs` counts one part's where there are two. */
export interface Matvec {
  readonly x: Tensor;
  readonly weights: readonly Weight[];
  readonly outputs: number;
  readonly output: keyof typeof MATVEC_OUTPUT;
  readonly y: Operand;
  readonly addend?: Operand;
  readonly defines?: Readonly<Record<string, number>>;
  readonly args?: readonly Operand[];
}

export function launchMatvec(to: Lowering, of: Matvec): void {
  const [first] = of.weights as [Weight];
  const capacity = to.capacity(of.x);
  const rows = rowBucket(capacity);
  const staged = canStage(to, capacity, first.columns);
  const input = to.activations.input(of.x);
  const small = of.output === 'floats' || of.output === 'residual';
  const scarce = Math.ceil(of.outputs / OUTPUTS_A_BLOCK) < 2 * to.target.multiprocessors;
  const outputs = small && scarce ? OUTPUTS_A_SMALL_BLOCK : OUTPUTS_A_BLOCK;
  const normed = input.kind === 'normed' ? input : { norm: NULL, epsilon: 0 };
  to.launch({
    file: 'matvec.hip',
    kernel: 'matvec',
    defines: {
      PACKED_FORMAT: packedFile(first.format),
      ROWS: rows,
      OUTPUTS: outputs,
      INPUT: INPUT_CODES[input.kind],
      OUTPUT: MATVEC_OUTPUT[of.output],
      STAGED: staged ? 1 : 0,
      ACTIVATION: 0,
      CACHE: 0,
      ...of.defines,
    },
    grid: [Math.ceil(of.outputs / outputs)],
    block: THREADS,
    sharedBytes: staged ? quantizedBytes(rows, first.columns) : 0,
    args: [
      to.count(of.x),
      input.x,
      normed.norm,
      float(normed.epsilon),
      to.weight(of.weights, GROUP_LAYOUT),
      int(of.outputs),
      int(first.columns / 32),
      int(capacity),
      of.addend ?? NULL,
      of.y,
      ...(of.args ?? []),
    ],
  });
}

import type { Epilogue, MatvecIntent } from '../../../device/index.ts';
import type { GpuTarget } from '../gpu-target.ts';
import { GROUP_PRODUCT } from '../kernels/group-product.ts';
import { loopFor } from '../kernels/library/loop.ts';
import { reduceText, rowSumsText } from '../kernels/library/reduce.ts';
import { linesTexts } from '../kernels/lines.ts';
import { DENSE_PRODUCT, MATVEC, packedProductText } from '../kernels/matvec.ts';
import { epilogueParts, outputsOf } from './epilogue.ts';
import type { Lowering } from './lowering.ts';
import { type Matrix, matrixOf } from './matrix.ts';
import { integerInput, type KernelPart, numberInput } from './product-input.ts';
import { bucketOf } from './staging.ts';

const THREADS = 256;
/** Threads that multiply a row. */
const TEAM = 32;
/** Groups of a row that a thread loads ahead; more take registers that other workgroups would have. */
const MAX_AHEAD = 4;
/** Outputs of a workgroup: a group's elements, so that a workgroup can quantize what it computes. */
export const OUTPUTS_PER_GROUP = 32;
/** Where few outputs would leave multiprocessors without work. */
const OUTPUTS_PER_SMALL_GROUP = 8;
const FEW_OUTPUTS = 8192;

/** The kernels' names in times and messages. */
const NAMES: Readonly<Record<Epilogue['kind'], string>> = {
  store: 'matvec',
  residual: 'matvec',
  gated: 'gated_matvec',
  heads: 'heads_matvec',
};

/** A product of few rows. */
export function emitMatvec(of: MatvecIntent, to: Lowering): void {
  const { rows: x, weights, epilogue } = of;
  const matrix = matrixOf(weights, to);
  const capacity = to.capacity(x);
  const parts = epilogue.kind === 'gated' ? 2 : 1;
  const input = inputOf(of, matrix, to);
  const epiloguePartOf = epilogueParts(
    epilogue,
    { rows: capacity, outputs: outputsOf(weights, epilogue) },
    to,
  );
  // What is finished in groups of elements comes in workgroups of whole ones.
  const whole = epilogue.kind === 'gated' || epilogue.kind === 'heads';
  for (const chunk of matrix.weight.chunks) {
    const epiloguePart = epiloguePartOf(chunk);
    const rows = chunk.rowCount / parts;
    const outputs = whole || rows > FEW_OUTPUTS ? OUTPUTS_PER_GROUP : OUTPUTS_PER_SMALL_GROUP;
    to.launch({
      name: NAMES[epilogue.kind],
      texts: [
        MATVEC,
        ...linesTexts('batch', matrix.packed),
        reduceText(to.target, { team: TEAM, threads: THREADS }),
        rowSumsText(to.target, bucketOf(capacity)),
        ...matrix.texts,
        ...input.texts,
        ...epiloguePart.texts,
      ],
      constants: {
        THREADS,
        COUNT: to.countOf(x),
        CAPACITY: capacity,
        ROWS: bucketOf(capacity),
        OUTPUTS: outputs,
        PARTS: parts,
        PART_ROWS: rows,
        ...matrix.constants,
        ...input.constants,
        ...epiloguePart.constants,
      },
      args: { counts: to.counts, weight: matrix.argument(chunk), ...input.args, ...epiloguePart.args },
      grid: [Math.ceil(rows / outputs)],
    });
  }
}

/** Activations quantized for integer products, as they are for others. */
function inputOf({ rows, x }: MatvecIntent, { packed }: Matrix, to: Lowering): KernelPart {
  if (!packed) {
    const numbers = numberInput(x, rows.width);
    return { ...numbers, texts: [DENSE_PRODUCT, ...numbers.texts] };
  }
  const input = integerInput(x, { of: rows, columns: rows.width }, to);
  return { ...input, texts: [...packedProduct(rows.width, to.target), ...input.texts] };
}

/** Integer products of rows of so many columns: `load_ahead` and `row_product`. */
export function packedProduct(columns: number, target: GpuTarget): readonly string[] {
  const rounds = Math.ceil(columns / 32 / TEAM);
  const ahead = target.unroll ? Math.min(MAX_AHEAD, rounds) : 1;
  return [packedProductText({ rounds, ahead }, loopFor(target)), GROUP_PRODUCT];
}

import { type Epilogue, type MatvecIntent, type ProductInput, q8Bytes } from '../../../device/index.ts';
import type { Weight } from '../../../ops/index.ts';
import { cacheDefines } from './attention.ts';
import { activationCode } from './elementwise.ts';
import { addendOf, outputsOf } from './epilogue.ts';
import { appendArgs } from './heads.ts';
import type { Operand } from './launch-plan.ts';
import { float, int, NULL } from './launch-template.ts';
import type { Lowering } from './lowering.ts';
import { packedFile } from './packed-formats.ts';
import { bucketOf, canStage } from './staging.ts';
import { FLOAT_LAYOUT, GROUP_LAYOUT } from './weight-layout.ts';

const OUTPUTS_PER_BLOCK = 32;
/** Used if full blocks would be too few for the multiprocessors. */
const OUTPUTS_PER_SMALL_BLOCK = 16;
const THREADS = 256;

/** The code in `matvec.hip` for the use of the sums. */
function outputCode(epilogue: Epilogue): number {
  if (epilogue.kind === 'gated') return epilogue.form === 'q8' ? 3 : 2;
  return { store: 0, residual: 1, heads: 4 }[epilogue.kind];
}

/** The kernels' code for the source of their activations. */
export function inputCode(input: ProductInput): number {
  if (input.form !== 'f32') return 0;
  return input.norm ? 2 : 1;
}

/** The weight and the epsilon of the norm that a kernel applies first. */
export function normArgs(input: ProductInput, to: Lowering): [Operand, Operand] {
  if (input.form !== 'f32' || !input.norm) return [NULL, float(0)];
  const { weight, epsilon } = input.norm;
  return [to.weight([weight], FLOAT_LAYOUT), float(epsilon)];
}

/** A product of few rows by packed weights. */
export function emitMatvec({ rows: of, x, weights, epilogue }: MatvecIntent, to: Lowering): void {
  const [first] = weights as [Weight];
  const capacity = to.capacity(of);
  const rows = bucketOf(capacity);
  const staged = canStage(to.target, capacity, first.columns);
  const width = outputsOf(weights, epilogue);
  const small = epilogue.kind === 'store' || epilogue.kind === 'residual';
  const scarce = Math.ceil(width / OUTPUTS_PER_BLOCK) < 2 * to.target.multiprocessors;
  const outputs = small && scarce ? OUTPUTS_PER_SMALL_BLOCK : OUTPUTS_PER_BLOCK;
  to.launch({
    file: 'matvec.hip',
    kernel: 'matvec',
    defines: {
      PACKED_FORMAT: packedFile(first.format),
      ROWS: rows,
      OUTPUTS: outputs,
      INPUT: inputCode(x),
      OUTPUT: outputCode(epilogue),
      STAGED: staged ? 1 : 0,
      ACTIVATION: epilogue.kind === 'gated' ? activationCode(epilogue.fn) : 0,
      CACHE: 0,
      ...(epilogue.kind === 'heads' ? cacheDefines(epilogue.of.heads.append.cache) : {}),
    },
    grid: [Math.ceil(width / outputs)],
    block: THREADS,
    sharedBytes: staged ? q8Bytes(rows, first.columns) : 0,
    args: [
      to.count(of),
      x.x,
      ...normArgs(x, to),
      to.weight(weights, GROUP_LAYOUT),
      int(width),
      int(first.columns / 32),
      int(capacity),
      addendOf(epilogue, to),
      epilogue.kind === 'heads' ? epilogue.of.heads.attention.q : epilogue.y,
      ...(epilogue.kind === 'heads' ? appendArgs(epilogue.of) : []),
    ],
  });
}

import { fail } from '../../../base/errors.ts';
import type {
  AddedExpertsIntent,
  ExpertProductIntent,
  GatedExpertsIntent,
  HeadProductIntent,
  ProductInput,
} from '../../../device/index.ts';
import { type MatmulExpertsOp, type MatmulHeadsOp, readsOwnPart, type Weight } from '../../../ops/index.ts';
import { addedBiasesText, ADDENDS, FLOATS_EPILOGUE } from '../kernels/epilogue.ts';
import { reduceText, rowSumsText } from '../kernels/library/reduce.ts';
import { linesTexts } from '../kernels/lines.ts';
import { DENSE_PRODUCT, MATVEC, ROWS_IN_ORDER } from '../kernels/matvec.ts';
import type { Constant } from '../launching/kernel-module.ts';
import { expertBiases, gatedEpilogue, NO_BIASES } from './epilogue.ts';
import { launchGroupedGated, launchGroupedProduct } from './expert-tiles.ts';
import { read, write } from './launch-plan.ts';
import type { Lowering } from './lowering.ts';
import { type Matrix, matrixOf } from './matrix.ts';
import { OUTPUTS_PER_GROUP, packedProduct } from './matvec.ts';
import { launchProduct } from './product.ts';
import { integerInput, type KernelPart, numberInput } from './product-input.ts';
import type { WeightChunk } from './webgpu-weight.ts';
import { FLOAT_LAYOUT } from './weight-layout.ts';

const THREADS = 256;
/** Threads that multiply a line. */
const TEAM = 32;
/** Outputs per workgroup if the choices of few rows are summed. */
const OUTPUTS_OF_ADDED = 8;

/** A product with routed experts' weights, or with each head's own; two of them if gate and up are one product. */
interface ExpertMatvec {
  readonly name: string;
  readonly of: MatmulExpertsOp | MatmulHeadsOp;
  readonly x: ProductInput;
  readonly weights: readonly Weight[];
  /** Whether a row's choices, each of which reads its own part of the row, are summed. */
  readonly added: boolean;
  readonly epiloguePart: KernelPart;
  /** Outputs per workgroup. */
  readonly outputs: number;
}

/** A product with routed experts' weights: for each choice separately, or for the choices of each expert. */
export function emitExpertProduct(intent: ExpertProductIntent, to: Lowering): void {
  if (intent.grouped) launchGroupedProduct(intent, to);
  else launchChoices(intent, to);
}

/** A product of each head with a matrix of its own: of each head of a row by itself, or of the rows of each head. */
export function emitHeadProduct(intent: HeadProductIntent, to: Lowering): void {
  const { op, x, grouped } = intent;
  if (!grouped) {
    launchChoices(intent, to);
    return;
  }
  const epilogue = { kind: 'store', y: op.out, biases: [] } as const;
  launchProduct({ rows: op.x, x, weights: [op.weight], epilogue, heads: op }, to);
}

function launchChoices({ op, x }: ExpertProductIntent | HeadProductIntent, to: Lowering): void {
  launchExpertMatvec(to, {
    name: op.kind === 'matmulHeads' ? 'matmul_heads' : 'matmul_experts',
    ...{ of: op, x, weights: [op.weight], added: false },
    outputs: OUTPUTS_PER_GROUP,
    epiloguePart: choicesEpilogue(op, to),
  });
}

/** Gate and up as one product, with the activation, multiplied by the routing weights if given. */
export function emitGatedExperts(intent: GatedExpertsIntent, to: Lowering): void {
  if (intent.grouped) launchGroupedGated(intent, to);
  else launchGatedChoices(intent, to);
}

function launchGatedChoices(
  { gate, up, op, x, routingWeights, y, form }: GatedExpertsIntent,
  to: Lowering,
): void {
  const rows = to.capacity(gate.out) * gate.expertIds.width;
  launchExpertMatvec(to, {
    name: 'gated_experts',
    ...{ of: gate, x, weights: [gate.weight, up.weight], added: false },
    outputs: OUTPUTS_PER_GROUP,
    epiloguePart: gatedEpilogue({
      ...{ fn: op.fn, y, form, rows, outputs: gate.outputs, routingWeights },
      biases: expertBiases([gate, up], 'choice', to),
    }),
  });
}

/** The down projection of routed experts, summed over a row's choices. */
export function emitAddedExperts(intent: AddedExpertsIntent, to: Lowering): void {
  const { op, x } = intent;
  launchExpertMatvec(to, {
    name: 'added_experts',
    ...{ of: op, x, weights: [op.weight], added: true },
    outputs: OUTPUTS_OF_ADDED,
    epiloguePart: addedEpilogue(intent, to),
  });
}

/** Each choice's results, with the biases of its expert. */
function choicesEpilogue(op: ExpertMatvec['of'], to: Lowering): KernelPart {
  const biases = op.kind === 'matmulHeads' ? NO_BIASES : expertBiases([op], 'choice', to);
  return {
    args: { ...biases.args, y: write(op.out) },
    texts: [FLOATS_EPILOGUE, ADDENDS.expert, ...biases.texts, ROWS_IN_ORDER],
    constants: { WIDTH: op.outputs, FIRST_ROW: 0 },
  };
}

/** The sums of a row's choices, with their biases by the routing weights and the residual. */
function addedEpilogue({ op, routingWeights, addend, y }: AddedExpertsIntent, to: Lowering): KernelPart {
  const { bias } = op;
  const biased = bias && { bias: to.vector(bias, FLOAT_LAYOUT), routing_weights: read(routingWeights) };
  const addends = bias
    ? addedBiasesText({ addend: addend !== undefined })
    : ADDENDS[addend ? 'residual' : 'none'];
  return {
    args: { ...(addend ? { addend: read(addend) } : {}), ...biased, y: write(y) },
    texts: [FLOATS_EPILOGUE, addends, ROWS_IN_ORDER],
    constants: { WIDTH: op.outputs, FIRST_ROW: 0 },
  };
}

function launchExpertMatvec(to: Lowering, product: ExpertMatvec): void {
  const { name, of, added, epiloguePart, outputs } = product;
  const matrix = matrixOf(product.weights, to);
  const down = to.capacity(of.x) * (added ? 1 : chosenOf(of));
  if (down > to.target.gridSize) {
    const why = `${down} choices are more than a grid's ${to.target.gridSize}`;
    fail('OP_UNSUPPORTED', { device: 'webgpu', op: of.kind, why });
  }
  const input = inputOf(product, matrix, to);
  for (const chunk of matrix.weight.chunks) {
    to.launch({
      name,
      texts: [
        MATVEC,
        ...linesTexts(added ? 'added' : of.kind === 'matmulHeads' ? 'head' : 'choice', matrix.packed),
        reduceText(to.target, { team: TEAM, threads: THREADS }),
        rowSumsText(to.target, 1),
        ...matrix.texts,
        ...input.texts,
        ...epiloguePart.texts,
      ],
      constants: {
        ...expertConstants(of, chunk, to),
        PARTS: product.weights.length,
        OUTPUTS: outputs,
        ...matrix.constants,
        ...input.constants,
        ...epiloguePart.constants,
      },
      args: {
        counts: to.counts,
        ...(of.kind === 'matmulHeads' ? {} : { experts: read(of.expertIds, 'array<i32>') }),
        weight: matrix.argument(chunk),
        ...input.args,
        ...epiloguePart.args,
      },
      grid: [Math.ceil(of.outputs / outputs), down],
    });
  }
}

/** Matrices that a row has to do with. */
function chosenOf(of: ExpertMatvec['of']): number {
  return of.kind === 'matmulHeads' ? of.heads : of.expertIds.width;
}

function expertConstants(of: ExpertMatvec['of'], chunk: WeightChunk, to: Lowering): Record<string, Constant> {
  const chosen = chosenOf(of);
  return {
    THREADS,
    COUNT: to.countOf(of.x),
    ROWS: 1,
    PART_ROWS: of.outputs,
    TOP_K: chosen,
    CHOICES_PER_ROW: of.kind === 'matmulHeads' || readsOwnPart(of) ? 1 : chosen,
    EXPERTS: of.weight.rows / of.outputs,
    EXPERT_ROWS: of.outputs,
    FIRST_LINE: chunk.firstRow,
    CHUNK_LINES: chunk.rowCount,
  };
}

/** Activations of a line, quantized for integer products: parts of a row are treated as rows. */
function inputOf({ of, x, added }: ExpertMatvec, { packed }: Matrix, to: Lowering): KernelPart {
  const { columns } = of.weight;
  if (!packed) {
    const numbers = numberInput(x, columns);
    return { ...numbers, texts: [DENSE_PRODUCT, ...numbers.texts] };
  }
  const input = integerInput(x, { of: of.x, columns }, to);
  const length = added ? chosenOf(of) * columns : columns;
  return { ...input, texts: [...packedProduct(length, to.target), ...input.texts] };
}

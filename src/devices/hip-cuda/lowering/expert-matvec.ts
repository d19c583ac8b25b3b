import { type ProductInput, q8Bytes } from '../../../device/index.ts';
import type { TensorFormat } from '../../../formats/index.ts';
import {
  type GatedFunction,
  type HotExperts,
  type MatmulExpertsOp,
  type MatmulHeadsOp,
  readsOwnPart,
  type Tensor,
  type Weight,
} from '../../../ops/index.ts';
import { activationCode } from './elementwise.ts';
import { hotArgs, packedCopies } from './hot-experts.ts';
import type { Operand } from './launch-plan.ts';
import { int, NULL } from './launch-template.ts';
import type { Lowering } from './lowering.ts';
import { inputCode, normArgs } from './matvec.ts';
import { bitsPerWeight, looksUpLevels, packedFile } from './packed-formats.ts';
import { STAGED_SLACK } from './staging.ts';
import { expertLayout, FLOAT_LAYOUT, GROUP_LAYOUT } from './weight-layout.ts';

const THREADS = 256;
/** Blocks that a multiprocessor should hold, so few registers may a thread have: those that kernels do with, most of them. */
const RESIDENT = 3;
const FEW_RESIDENT = 2;
const MANY_RESIDENT = 4;
/** Most bits of weights of which registers of so many blocks have room for two gates and two ups of a lane. */
const MOST_BITS = 6;
/**
 * Outputs per block: a group, so that it can be quantized; fewer if there would be too few blocks for the
 * multiprocessors.
 */
const OUTPUTS_PER_BLOCK = 32;
const FEWER_OUTPUTS = [16, 8] as const;
/** Up to this many groups per row, a lane multiplies two lines at a time: one would not saturate memory. */
const FEW_GROUPS = 64;

/** Codes of `expert-matvec.hip` for the use of the sums. */
const OUTPUT_CODES = { floats: 0, residual: 1, gated: 2, gatedQuantized: 3 } as const;

/** How choices are distributed over blocks. */
const CHOICE_CODES = { each: 0, added: 1 } as const;

/**
 * A product with routed experts' weights, or with each head's own. For gate and up there are two `weights`, or one that has an
 * expert's up behind its gate.
 */
interface ExpertMatvec {
  readonly op: MatmulExpertsOp | MatmulHeadsOp;
  readonly x: ProductInput;
  readonly weights: readonly Weight[];
  /** Copies of some of each one's experts, or none. */
  readonly hot: readonly HotExperts[];
  /** A bias for each of them, or none. */
  readonly biases: readonly Weight[];
  /** If choices are summed, each reads its own part of the row. */
  readonly choices: keyof typeof CHOICE_CODES;
  readonly output: keyof typeof OUTPUT_CODES;
  readonly y: Operand;
  /**
   * Factors of the choices' results or, if choices are summed, of their biases: the results have already been
   * multiplied.
   */
  readonly routingWeights: Tensor | undefined;
  readonly addend: Tensor | undefined;
  readonly activation: GatedFunction | undefined;
}

export function launchExpertMatvec(to: Lowering, product: ExpertMatvec): void {
  const { op, x: input, weights, choices, output } = product;
  const { x, weight } = op;
  const outputs = outputsOf(op, product);
  const { expertIds, chosen, parts } = choicesOf(op);
  const capacity = to.capacity(x);
  const count = weight.rows / op.outputs;
  const down = { added: capacity, each: capacity * chosen }[choices];
  const across = outputsOfBlock(to, product, down);
  const groups = weight.columns / 32;
  const rowGroups = choices === 'added' ? chosen * groups : groups;
  const lines = rowGroups > FEW_GROUPS || across < OUTPUTS_PER_BLOCK ? 1 : 2;
  const staged = input.form === 'f32';
  const copies = packedCopies(product.hot, op.outputs, to);
  to.launch({
    file: 'expert-matvec.hip',
    kernel: 'expert_matvec',
    defines: {
      PACKED_FORMAT: packedFile(weight.format),
      ROWS: 1,
      LINES: lines,
      OUTPUTS: across,
      RESIDENT: residentOf({ format: weight.format, lines, staged, output }, to),
      INPUT: inputCode(input),
      OUTPUT: OUTPUT_CODES[output],
      CHOICES: CHOICE_CODES[choices],
      ...(copies ? { HOT: 1 } : outputs < op.outputs && { JOINED: 1 }),
      STAGED: staged ? 1 : 0,
      ...(to.target.vendor === 'nvidia' ? { GROUPS: groups, TOP_K: chosen } : { GROUPS: 0, TOP_K: 0 }),
      ACTIVATION: product.activation === undefined ? 0 : activationCode(product.activation),
    },
    grid: [Math.ceil(outputs / across), down],
    block: THREADS,
    sharedBytes: staged ? q8Bytes(1, 32 * rowGroups) + STAGED_SLACK : 0,
    args: [
      to.count(x),
      input.x,
      ...normArgs(input, to),
      to.weight(weights, copies ? expertLayout(op.outputs) : GROUP_LAYOUT),
      ...hotArgs(copies),
      expertIds,
      product.routingWeights ?? NULL,
      int(count),
      int(outputs),
      int(groups),
      int(capacity),
      int(chosen),
      int(parts),
      product.addend ?? NULL,
      product.biases.length > 0 ? to.weight(product.biases, FLOAT_LAYOUT) : NULL,
      product.y,
    ],
  });
}

/**
 * As many blocks as have registers: gates and ups take more, most where two lines are multiplied at once and where each lane finds its
 * activations; one line of sums takes fewer, except of levels that are looked up.
 */
function residentOf(
  of: { readonly format: TensorFormat; readonly lines: number; readonly staged: boolean } & Pick<
    ExpertMatvec,
    'output'
  >,
  { target }: Lowering,
): number {
  const { format, lines, staged, output } = of;
  if (target.vendor !== 'nvidia') return RESIDENT;
  const isGated = output === 'gated' || output === 'gatedQuantized';
  if (!isGated) return lines === 1 && !looksUpLevels(format) ? MANY_RESIDENT : RESIDENT;
  if (lines === 1) return staged || !looksUpLevels(format) ? RESIDENT : FEW_RESIDENT;
  return staged && bitsPerWeight(format) <= MOST_BITS ? RESIDENT : FEW_RESIDENT;
}

/** Outputs of an expert: half of the rows of a matrix that is gate and up. */
export function outputsOf(
  { outputs }: MatmulExpertsOp | MatmulHeadsOp,
  { weights, activation }: Pick<ExpertMatvec, 'weights' | 'activation'>,
): number {
  return activation !== undefined && weights.length === 1 ? outputs / 2 : outputs;
}

/** The ids of the chosen matrices, how many a row has, and of how many parts rows are; without ids each part has the matrix of its number. */
function choicesOf(op: MatmulExpertsOp | MatmulHeadsOp) {
  if (op.kind === 'matmulHeads') return { expertIds: NULL, chosen: op.heads, parts: op.heads };
  const chosen = op.expertIds.width;
  return { expertIds: op.expertIds, chosen, parts: readsOwnPart(op) ? chosen : 1 };
}

function outputsOfBlock(to: Lowering, product: ExpertMatvec, down: number): number {
  if (product.output === 'gatedQuantized') return OUTPUTS_PER_BLOCK;
  const enough = 2 * to.target.multiprocessors;
  const all = outputsOf(product.op, product);
  const fits = (outputs: number) => Math.ceil(all / outputs) * down >= enough;
  return [OUTPUTS_PER_BLOCK, ...FEWER_OUTPUTS].find(fits) ?? 8;
}

import { type MatmulExpertsOp, readsOwnPart, type Tensor, type Weight } from '../../../ops/index.ts';
import type { MatvecInput } from './activations.ts';
import type { Operand } from './launch-plan.ts';
import { float, int, NULL } from './launch-template.ts';
import type { Lowering } from './lowering.ts';
import { MATVEC_ROWS, quantizedBytes } from './matvec-shape.ts';
import { INPUT_CODES } from './matvec.ts';
import { packedFile } from './packed-formats.ts';
import { GROUP_LAYOUT } from './weight-layout.ts';

const THREADS = 256;
/** Outputs of a block: a group's, so that it can be quantized; fewer where blocks would be too few for the processors. */
const OUTPUTS_A_BLOCK = 32;
const FEWER_OUTPUTS = [16, 8] as const;
/** Up to so many groups a row, a warp takes two lines at a time: one would not keep memory busy. */
const FEW_GROUPS = 64;
/** Rows that an expert's block takes at a time. */
const ROWS_AN_EXPERT = 4;

/** What a kernel makes of its sums; the numbers are `expert-matvec.hip`'s. */
const OUTPUT_CODES = { floats: 0, residual: 1, gated: 2, gatedQuantized: 3 } as const;

/** How blocks divide choices among them. */
const CHOICE_CODES = { each: 0, byExpert: 1, added: 2 } as const;

/** A product with chosen experts' weights; `weights` are two where gate and up are one product. */
export interface ExpertMatvec {
  readonly of: MatmulExpertsOp;
  readonly weights: readonly Weight[];
  readonly output: keyof typeof OUTPUT_CODES;
  readonly y: Operand;
  /** Factors of the choices' results. */
  readonly shares?: Tensor;
  /** Whether a row's choices are added up: then each reads a part of the row of its own. */
  readonly added?: boolean;
  readonly addend?: Operand;
  readonly activation?: number;
}

/** True for batches of so few rows that hardly two of them choose an expert. */
export function hasFewChoices({ x }: MatmulExpertsOp, to: Lowering): boolean {
  return to.capacity(x) <= MATVEC_ROWS;
}

export function launchExpertMatvec(to: Lowering, product: ExpertMatvec): void {
  const { of, weights, output, added = false } = product;
  const { x, experts, outputs, weight } = of;
  const few = hasFewChoices(of, to);
  const input = to.activations.input(x);
  const capacity = to.capacity(x);
  const chosen = experts.width;
  const count = weight.rows / outputs;
  const down = added ? capacity : few ? capacity * chosen : count;
  const across = few ? outputsOfBlock(to, product, down) : OUTPUTS_A_BLOCK;
  const groups = weight.columns / 32;
  const rowGroups = added ? chosen * groups : groups;
  to.launch({
    file: 'expert-matvec.hip',
    kernel: 'expert_matvec',
    defines: {
      PACKED_FORMAT: packedFile(weight.format),
      ROWS: few ? 1 : ROWS_AN_EXPERT,
      LINES: few && (rowGroups > FEW_GROUPS || across < OUTPUTS_A_BLOCK) ? 1 : 2,
      OUTPUTS: across,
      INPUT: INPUT_CODES[input.kind],
      OUTPUT: OUTPUT_CODES[output],
      CHOICES: CHOICE_CODES[added ? 'added' : few ? 'each' : 'byExpert'],
      STAGED: input.kind === 'quantized' ? 0 : 1,
      ACTIVATION: product.activation ?? 0,
    },
    grid: [Math.ceil(outputs / across), down],
    block: THREADS,
    sharedBytes: input.kind === 'quantized' ? 0 : quantizedBytes(1, 32 * rowGroups),
    args: [
      to.count(x),
      input.x,
      ...normOf(input),
      to.weight(weights, GROUP_LAYOUT),
      experts,
      product.shares ?? NULL,
      int(count),
      int(outputs),
      int(groups),
      int(capacity),
      int(chosen),
      int(readsOwnPart(of) ? chosen : 1),
      product.addend ?? NULL,
      product.y,
    ],
  });
}

function normOf(input: MatvecInput): [Operand, Operand] {
  return input.kind === 'normed' ? [input.norm, float(input.epsilon)] : [NULL, float(0)];
}

function outputsOfBlock(to: Lowering, { of, output }: ExpertMatvec, down: number): number {
  if (output === 'gatedQuantized') return OUTPUTS_A_BLOCK;
  const enough = 2 * to.target.multiprocessors;
  const fits = (outputs: number) => Math.ceil(of.outputs / outputs) * down >= enough;
  return [OUTPUTS_A_BLOCK, ...FEWER_OUTPUTS].find(fits) ?? 8;
}

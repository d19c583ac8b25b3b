import { type Fusion, type GraphUses, matchResidual, type Residual } from '../../../../device/index.ts';
import type { CombineExpertsOp, GatedOp, MatmulExpertsOp, Op, Tensor } from '../../../../ops/index.ts';
import { readsOwnPart } from '../../../../ops/index.ts';
import { activationCode } from '../elementwise.ts';
import { hasFewChoices, launchExpertMatvec } from '../expert-matvec.ts';
import { launchCombine } from '../experts.ts';
import { NULL } from '../launch-template.ts';
import type { Lowering } from '../lowering.ts';
import { isPacked } from '../packed-formats.ts';

/** Choices that `expert-matvec.hip` adds up. */
const MOST_CHOICES = 32;

/** Gate and up of the chosen experts. */
interface GatedExperts {
  readonly gate: MatmulExpertsOp;
  readonly up: MatmulExpertsOp;
  readonly op: GatedOp;
}

/** What follows them: the way back, the sum by shares, and the residual where it is added next. */
interface WayBack {
  readonly down: MatmulExpertsOp;
  readonly combine: CombineExpertsOp;
  readonly residual: Residual | undefined;
}

/**
 * For few rows a mixture of experts is two launches: gate and up with their activation, times the shares; then the way back,
 * whose choices are one sum, with the residual. For more rows gate and up are one launch.
 */
export function fuseExperts(op: Op, uses: GraphUses, to: Lowering): Fusion | undefined {
  if (op.kind !== 'gated') return undefined;
  const gated = matchGated(op, uses);
  if (!gated) return undefined;
  const back = hasFewChoices(gated.gate, to) ? matchWayBack(op, uses) : undefined;
  const { gate, up } = gated;
  if (!back) return { ops: [gate, up, op], emit: () => launchGated(to, gated, undefined) };
  const { down, combine, residual } = back;
  return {
    ops: [gate, up, op, down, combine, ...(residual ? [residual.sum] : [])],
    emit: () => {
      launchGated(to, gated, combine.shares);
      launchWayBack(to, back);
    },
  };
}

/** The sum by shares and the addition of another tensor to it. */
export function fuseCombine(op: Op, uses: GraphUses, to: Lowering): Fusion | undefined {
  const found = op.kind === 'combineExperts' ? matchResidual(op, uses) : undefined;
  if (op.kind !== 'combineExperts' || !found) return undefined;
  const { sum, addend } = found;
  return { ops: [op, sum], emit: () => launchCombine(op, to, { addend, y: sum.out }) };
}

function matchGated(op: GatedOp, uses: GraphUses): GatedExperts | undefined {
  const gate = uses.producer(op.gate);
  const up = uses.producer(op.up);
  if (gate?.kind !== 'matmulExperts' || up?.kind !== 'matmulExperts' || gate === up) return undefined;
  const alone = uses.onlyReader(op.gate) === op && uses.onlyReader(op.up) === op;
  const alike =
    gate.x === up.x &&
    gate.experts === up.experts &&
    gate.weight.format === up.weight.format &&
    gate.weight.columns === up.weight.columns;
  return alone && alike && isPacked(gate.weight.format) ? { gate, up, op } : undefined;
}

function matchWayBack(op: GatedOp, uses: GraphUses): WayBack | undefined {
  const down = uses.onlyReader(op.out);
  if (down?.kind !== 'matmulExperts' || down.x !== op.out || !readsOwnPart(down)) return undefined;
  const combine = uses.onlyReader(down.out);
  if (combine?.kind !== 'combineExperts' || combine.x !== down.out) return undefined;
  const routed = combine.shares.width === down.experts.width && down.experts.width <= MOST_CHOICES;
  const whole = down.weight.columns % 32 === 0 && isPacked(down.weight.format);
  return routed && whole ? { down, combine, residual: matchResidual(combine, uses) } : undefined;
}

function launchGated(to: Lowering, { gate, up, op }: GatedExperts, shares: Tensor | undefined): void {
  // Only the way back of the same fusion expects its shares to be in there already.
  const quantized = shares !== undefined && gate.outputs % 32 === 0;
  const y = quantized ? to.activations.provide(op.out, 'quantized') : op.out;
  launchExpertMatvec(to, {
    of: gate,
    weights: [gate.weight, up.weight],
    output: quantized ? 'gatedQuantized' : 'gated',
    y,
    activation: activationCode(op.fn),
    ...(shares ? { shares } : {}),
  });
}

function launchWayBack(to: Lowering, { down, combine, residual }: WayBack): void {
  launchExpertMatvec(to, {
    of: down,
    weights: [down.weight],
    output: residual ? 'residual' : 'floats',
    y: residual ? residual.sum.out : combine.out,
    added: true,
    addend: residual?.addend ?? NULL,
  });
}

import type {
  CombineExpertsOp,
  GatedOp,
  MatmulExpertsOp,
  MatmulHeadsOp,
  Op,
  SliceOp,
  Tensor,
} from '../../ops/index.ts';
import { readsOwnPart } from '../../ops/index.ts';
import type { Fusion } from './fusion.ts';
import type { ActivationForm, ProductInput } from './intent.ts';
import { isPacked } from './plan-scope.ts';
import type { GpuPlanner } from './planner.ts';
import { matchResidual, type Residual } from './products.ts';

/** Maximum choices whose results one kernel sums. */
const MAX_ADDED = 32;
/** Elements of a quantized group: workgroups write whole groups. */
const GROUP = 32;

/** Gate and up of the routed experts, which may be one product, and all operators up to the activation. */
interface GatedExperts {
  readonly gate: MatmulExpertsOp;
  readonly up: MatmulExpertsOp;
  readonly op: GatedOp;
  readonly ops: readonly Op[];
}

/** What follows: the down projection, the sum by routing weights, and the residual if it is added next. */
interface WayBack {
  readonly down: MatmulExpertsOp;
  readonly combine: CombineExpertsOp;
  readonly residual: Residual | undefined;
}

/** What products with one of several matrices have in common. */
type Matrices = Pick<MatmulExpertsOp | MatmulHeadsOp, 'x' | 'weight'>;

/** A product with routed experts' weights, by itself. */
export function planMatmulExperts(op: MatmulExpertsOp, to: GpuPlanner): void {
  to.add({ kind: 'expertProduct', op, ...expertParts(op, to) });
}

/** A product of each head with a matrix of its own, as if all rows chose all matrices. */
export function planMatmulHeads(op: MatmulHeadsOp, to: GpuPlanner): void {
  const { x, weight } = op;
  const grouped = !to.hasFewRows(x) && to.facts.joins([weight]);
  const parts = isPacked(weight) ? expertParts(op, to) : { x: { form: 'f32', x } as const, grouped };
  to.add({ kind: 'headProduct', op, ...parts });
}

/** The input of such a product, and whether choices are grouped by expert, which is done for many rows. */
function expertParts(op: Matrices, to: GpuPlanner): { x: ProductInput; grouped: boolean } {
  const { readsNumbers } = to.facts.experts;
  const { x, weight } = op;
  const form = groupedForm(op, to);
  if (form) {
    const input: ProductInput =
      form === 'f32' ? { form, x } : { form, x: to.activations.as(x, form, x.width / weight.columns) };
    return { x: input, grouped: true };
  }
  if (!isPacked(weight)) return { x: { form: 'f32', x }, grouped: false };
  return { x: to.activations.quantizing(x, readsNumbers ? to.facts.buffers : 0), grouped: false };
}

/** The form in which a product reads choices grouped by expert; undefined if they are not grouped. */
export function groupedForm({ x, weight }: Matrices, to: GpuPlanner): ActivationForm | undefined {
  const many = isPacked(weight) && !to.hasFewRows(x) && to.facts.joins([weight]);
  return many ? to.facts.experts.groupedForm : undefined;
}

/**
 * Fuses a mixture of experts. For few rows into two intents: gate and up with their activation, multiplied by the
 * routing weights; then the down projections, summed over the choices, with the residual. For more rows, gate and up
 * are fused.
 */
export function fuseExperts(op: Op, to: GpuPlanner): Fusion | undefined {
  if (op.kind !== 'gated' || !to.has('gatedExperts')) return undefined;
  const gated = matchGatedExperts(op, to);
  if (!gated) return undefined;
  const { gate, ops } = gated;
  const few = to.hasFewRows(gate.x) && to.has('addedExperts');
  const back = few ? matchWayBack(op, to) : undefined;
  if (!back) return { ops, plan: () => planGatedExperts(to, gated, undefined) };
  const { down, combine, residual } = back;
  return {
    ops: [...ops, down, combine, ...(residual ? [residual.sum] : [])],
    plan: () => {
      planGatedExperts(to, gated, combine.routingWeights);
      planWayBack(to, back);
    },
  };
}

/** Fuses the sum by routing weights with the addition of another tensor. */
export function fuseCombine(op: Op, to: GpuPlanner): Fusion | undefined {
  if (op.kind !== 'combineExperts' || !to.has('combineResidual')) return undefined;
  const found = matchResidual(op, to.uses);
  if (!found || (to.facts.bindsOnce && found.addend === op.x)) return undefined;
  const { sum, addend } = found;
  return { ops: [op, sum], plan: () => to.add({ kind: 'combineResidual', op, addend, y: sum.out }) };
}

function matchGatedExperts(op: GatedOp, { uses, facts }: GpuPlanner): GatedExperts | undefined {
  const gate = uses.producer(op.gate);
  const up = uses.producer(op.up);
  if (gate?.kind === 'slice' && up?.kind === 'slice')
    return matchJoinedExperts(op, [gate, up], { uses, facts });
  if (gate?.kind !== 'matmulExperts' || up?.kind !== 'matmulExperts' || gate === up) return undefined;
  const alone = uses.onlyReader(op.gate) === op && uses.onlyReader(op.up) === op;
  const alike =
    gate.x === up.x &&
    gate.expertIds === up.expertIds &&
    gate.weight.format === up.weight.format &&
    gate.weight.columns === up.weight.columns &&
    gate.bias?.format === up.bias?.format &&
    gate.hot?.slots === up.hot?.slots;
  const joined = isPacked(gate.weight) && facts.joins([gate.weight, up.weight]);
  return alone && alike && joined ? { gate, up, op, ops: [gate, up, op] } : undefined;
}

/** Matches the two halves of each choice's result of one product. */
function matchJoinedExperts(
  op: GatedOp,
  halves: readonly [SliceOp, SliceOp],
  { uses, facts }: Pick<GpuPlanner, 'uses' | 'facts'>,
): GatedExperts | undefined {
  const [first, second] = halves;
  const both = uses.producer(first.x);
  if (both?.kind !== 'matmulExperts' || both.bias || second.x !== first.x) return undefined;
  const half = both.outputs / 2;
  const alone = uses.onlyReader(op.gate) === op && uses.onlyReader(op.up) === op;
  const inOrder = halves.every(
    ({ offset, segmentWidth, stride }, i) =>
      offset === i * half && segmentWidth === half && stride === both.outputs,
  );
  const read = alone && op.gate !== op.up && uses.readers(both.out).length === 2;
  const joined = facts.experts.joinsHalves && isPacked(both.weight) && facts.joins([both.weight]);
  const ops = [both, first, second, op];
  return read && inOrder && joined ? { gate: both, up: both, op, ops } : undefined;
}

function matchWayBack(op: GatedOp, { uses, facts }: GpuPlanner): WayBack | undefined {
  const down = uses.onlyReader(op.out);
  if (down?.kind !== 'matmulExperts' || down.x !== op.out || !readsOwnPart(down)) return undefined;
  const combine = uses.onlyReader(down.out);
  if (combine?.kind !== 'combineExperts' || combine.x !== down.out) return undefined;
  const routed = combine.routingWeights.width === down.expertIds.width && down.expertIds.width <= MAX_ADDED;
  const whole = down.weight.columns % GROUP === 0 && isPacked(down.weight) && facts.joins([down.weight]);
  return routed && whole ? { down, combine, residual: matchResidual(combine, uses) } : undefined;
}

function planGatedExperts(
  to: GpuPlanner,
  { gate, up, op }: GatedExperts,
  routingWeights: Tensor | undefined,
): void {
  // Only the down projection of the same fusion expects the routing weights to be already included.
  const form = routingWeights === undefined ? groupedFormLeft(op, gate, to) : formLeftForFew(op, gate, to);
  const y = to.activations.place(op.out, form, gate.expertIds.width);
  to.add({ kind: 'gatedExperts', gate, up, op, routingWeights, y, form, ...expertParts(gate, to) });
}

/** The form of gate and up's result for few rows: numbers where workgroups of whole groups would be too few. */
function formLeftForFew({ out }: GatedOp, gate: MatmulExpertsOp, to: GpuPlanner): 'q8' | 'f32' {
  const isNarrow = to.capacity(out) * out.width < 2 * to.facts.minQuantizedOutputs;
  const isWhole = (out.width / gate.expertIds.width) % GROUP === 0;
  return isWhole && !(isNarrow && to.activations.isQuantizedInside(out)) ? 'q8' : 'f32';
}

/** The form of gate and up's result for grouped choices: f16 if that is what the next product reads. */
function groupedFormLeft({ out }: GatedOp, gate: MatmulExpertsOp, to: GpuPlanner): 'f16' | 'f32' {
  const outputs = out.width / gate.expertIds.width;
  const reader = to.uses.onlyReader(out);
  const isRead = reader?.kind === 'matmulExperts' && reader.x === out && groupedForm(reader, to) === 'f16';
  return isRead && groupedForm(gate, to) === 'f16' && outputs % GROUP === 0 ? 'f16' : 'f32';
}

function planWayBack(to: GpuPlanner, { down, combine, residual }: WayBack): void {
  const y = residual ? residual.sum.out : combine.out;
  const { routingWeights } = combine;
  to.add({
    kind: 'addedExperts',
    op: down,
    routingWeights,
    addend: residual?.addend,
    y,
    ...expertParts(down, to),
  });
}

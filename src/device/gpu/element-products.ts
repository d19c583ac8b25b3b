import {
  type GatedOp,
  type MatmulOp,
  type Op,
  operandsOf,
  resultsOf,
  type Tensor,
  type Weight,
} from '../../ops/index.ts';
import type { Fusion } from './fusion.ts';
import type { Temporary } from './graph-lowering.ts';
import { halfForm, isElementTile, isLowRank } from './half-products.ts';
import type { ElementProduct, ElementStep } from './intent.ts';
import type { GpuPlanner } from './planner.ts';

/** Maximum products of one launch. */
const MAX_PRODUCTS = 8;
/** Row widths are multiples of this, so that rows start at whole vectors. */
const ROW_UNIT = 8;
/** Unquantized formats. */
const NUMBERS: ReadonlySet<string> = new Set(['F32', 'F16', 'BF16']);

/**
 * Fuses independent products by unquantized weights into one launch, with the elementwise operators that follow each: of few rows, and
 * of more by weights of low rank.
 */
export function fuseElementProducts(op: Op, to: GpuPlanner): readonly Fusion[] | undefined {
  if (op.kind !== 'matmul' || !to.has('elementProducts') || !isElementProduct(op, to)) return undefined;
  const launches = launchesFrom(op, to);
  const isAlone = launches.length === 1 && launches[0]?.length === 1 && launches[0][0]?.steps.length === 0;
  if (isAlone && halfForm([op.weight], to, to.capacity(op.x))?.form === 'split') return undefined;
  return launches.map((products) => ({
    ops: products.flatMap(operatorsOf),
    plan: () => to.add({ kind: 'elementProducts', products }),
  }));
}

/** Whether one launch computes these products, of few rows by unquantized weights, and writes their rows side by side. */
export function joinsNumbers(products: readonly MatmulOp[], to: GpuPlanner): boolean {
  const fuses = to.facts.fusesNumbers && to.has('elementProducts') && products.length <= MAX_PRODUCTS;
  return fuses && products.every((op) => to.hasFewRows(op.x) && isElementProduct(op, to));
}

/** Plans products for which that is so: row by row, each one's results behind those of the one before. */
export function planJoinedNumbers(
  products: readonly MatmulOp[],
  { memory, width }: { readonly memory: Temporary; readonly width: number },
  to: GpuPlanner,
): void {
  let start = 0;
  const placed = products.map((op): ElementProduct => {
    const joined = { memory, stride: width, start };
    start += op.out.width;
    return { op, steps: [], out: op.out, joined };
  });
  to.add({ kind: 'elementProducts', products: placed });
}

/** True for products by unquantized weights of few rows, or of more by weights of low rank. */
function isElementProduct({ x, weight }: MatmulOp, to: GpuPlanner): boolean {
  const whole = weight.columns % ROW_UNIT === 0 && to.facts.joins([weight]);
  if (!to.hasFewRows(x)) return whole && isElementTile(weight, to, to.capacity(x));
  return NUMBERS.has(weight.format.name) && whole;
}

/**
 * The products that are launched with one. If products of low rank need some of them, these are a second launch, with those of the first that
 * nothing reads before: so a chain of low rank, each link too small for a GPU, runs beside large products.
 */
function launchesFrom(op: MatmulOp, to: GpuPlanner): readonly (readonly ElementProduct[])[] {
  const group = new ProductGroup(to);
  const products = group.collect(op);
  const { next } = group;
  if (next?.kind !== 'matmul' || !mixesProducts(next, to) || !isElementProduct(next, to)) return [products];
  const chained = new ProductGroup(to).collect(next, products);
  if (!chained.every((product) => isLowRank(product.op.weight))) return [products];
  const end = Math.max(...chained.flatMap(operatorsOf).map((of) => to.uses.place(of)));
  const isLate = ({ out }: ElementProduct) => {
    const readers = to.uses.readers(out);
    return readers.length > 0 && readers.every((reader) => to.uses.place(reader) > end);
  };
  const late = products.filter(isLate).slice(0, MAX_PRODUCTS - chained.length);
  return [products.filter((product) => !late.includes(product)), [...late, ...chained]];
}

/** Whether a product is launched with others whatever their formats and sizes. */
function mixesProducts({ x }: MatmulOp, to: GpuPlanner): boolean {
  return to.facts.mixesProducts && to.hasFewRows(x);
}

function operatorsOf({ op, gated, steps }: ElementProduct): readonly Op[] {
  return [op, ...(gated ? [gated.up, gated.op] : []), ...steps.map((step) => step.op)];
}

/** Fuses two or more consecutive elementwise operators into one launch. */
export function fuseElementChain(op: Op, to: GpuPlanner): Fusion | undefined {
  const x = to.has('elementChain') ? chainedOperand(op) : undefined;
  const steps: ElementStep[] = [];
  let out = x;
  for (
    let next: Op | undefined = op;
    x && out && next && !to.taken.has(next);
    next = to.uses.onlyReader(out)
  ) {
    const step = stepOver(next, out);
    if (!step || !bindsAll(x, [...steps, step], to)) break;
    steps.push(step);
    out = step.op.out;
  }
  if (!x || !out || steps.length < 2) return undefined;
  const chain = { kind: 'elementChain', x, steps, out } as const;
  return { ops: steps.map((step) => step.op), plan: () => to.add(chain) };
}

/** The operand that an elementwise operator is a function of. */
function chainedOperand(op: Op): Tensor | undefined {
  if (op.kind === 'unary' || op.kind === 'scale' || op.kind === 'clamp') return op.x;
  if (op.kind === 'add' || op.kind === 'mul') return op.a;
  return op.kind === 'lerp' && op.t.kind === 'tensor' ? op.t : undefined;
}

/** Whether one kernel can bind a tensor, the other operands of its steps, and their result. */
function bindsAll(x: Tensor, steps: readonly ElementStep[], { facts }: GpuPlanner): boolean {
  const operands = steps.flatMap((step) => step.operands);
  const tensors = [x, ...operands.filter((operand) => operand.kind === 'tensor')];
  const once = !facts.bindsOnce || new Set(tensors).size === tensors.length;
  return once && operands.length + 2 <= facts.buffers;
}

/** A product with the steps that follow it so far. */
interface GrowingProduct {
  readonly op: MatmulOp;
  gated?: ElementProduct['gated'];
  readonly steps: ElementStep[];
  out: Tensor;
}

/** Walks along the graph up to the first operator that has to run after the group. */
class ProductGroup {
  readonly #to: GpuPlanner;
  readonly #products: GrowingProduct[] = [];
  /** What the group computes; nothing may read it before the group is launched. */
  readonly #computed = new Set<Tensor>();
  /** The operator that has to run after the group; undefined at the graph's end. */
  next: Op | undefined;

  constructor(to: GpuPlanner) {
    this.#to = to;
  }

  /** Collects products from `first` on that are not among `earlier` ones, which are computed before. */
  collect(first: MatmulOp, earlier: readonly ElementProduct[] = []): readonly ElementProduct[] {
    const { ops } = this.#to.graph;
    const known = new Set(earlier.flatMap(operatorsOf));
    for (let place = this.#to.uses.place(first); place < ops.length; place++) {
      const op = ops[place] as Op;
      if (known.has(op)) continue;
      if (!this.#readsGroup(op)) this.#join(op, first);
      else if (!this.#extend(op)) {
        this.next = op;
        break;
      }
    }
    return this.#products;
  }

  #readsGroup(op: Op): boolean {
    return operandsOf(op).some((operand) => operand.kind === 'tensor' && this.#computed.has(operand));
  }

  #join(op: Op, first: MatmulOp): void {
    if (op.kind !== 'matmul' || !isElementProduct(op, this.#to)) return;
    const isOfFormat = op.weight.format === first.weight.format || mixesProducts(first, this.#to);
    const alike = isOfFormat && op.x.axis === first.x.axis;
    if (!alike || this.#products.length === MAX_PRODUCTS) return;
    this.#products.push({ op, steps: [], out: op.out });
    this.#computed.add(op.out);
  }

  #extend(op: Op): boolean {
    if (op.kind === 'gated') return this.#combine(op);
    const [result] = resultsOf(op);
    const owner = this.#products.find(({ out }) => this.#to.uses.onlyReader(out) === op);
    const step = owner && stepOver(op, owner.out);
    if (!owner || !result || !step || !step.operands.every((operand) => this.#isThere(operand))) return false;
    owner.steps.push(step);
    owner.out = result;
    this.#computed.add(result);
    return true;
  }

  /** Makes one product of a gate and its up. */
  #combine(op: GatedOp): boolean {
    const { facts, uses } = this.#to;
    const partOf = (tensor: Tensor) =>
      this.#products.find(
        ({ op: { out, bias }, steps, gated }) =>
          out === tensor && uses.onlyReader(out) === op && !bias && !gated && steps.length === 0,
      );
    const [gate, up] = [partOf(op.gate), partOf(op.up)];
    if (!facts.fusesNumbers || !gate || !up || gate === up || !this.#to.hasFewRows(op.out)) return false;
    const [one, other] = [gate.op, up.op];
    if (one.x !== other.x || one.weight.format !== other.weight.format) return false;
    this.#products.splice(this.#products.indexOf(up), 1);
    gate.gated = { op, up: other };
    gate.out = op.out;
    this.#computed.add(op.out);
    return true;
  }

  #isThere(operand: Tensor | Weight): boolean {
    return operand.kind === 'weight' || !this.#computed.has(operand);
  }
}

/** An operator as an elementwise step on a tensor; undefined if it is not elementwise. */
function stepOver(op: Op, x: Tensor): ElementStep | undefined {
  switch (op.kind) {
    case 'unary':
    case 'scale':
    case 'clamp':
      return op.x === x ? { op, operands: [] } : undefined;
    case 'add':
    case 'mul':
      if (op.a === op.b) return undefined;
      if (op.a === x) return { op, operands: [op.b] };
      return op.b === x && x.width === op.a.width ? { op, operands: [op.a] } : undefined;
    case 'lerp':
      return op.t === x && op.a !== x && op.b !== x ? { op, operands: [op.a, op.b] } : undefined;
    default:
      return undefined;
  }
}

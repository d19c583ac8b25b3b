import type { Fusion, GraphUses } from '../../../../device/index.ts';
import { type MatmulOp, type Op, operandsOf, resultsOf, type Tensor } from '../../../../ops/index.ts';
import { type FloatProduct, isFloatMatvec, launchFloatMatvec } from '../float-matvec.ts';
import type { Lowering } from '../lowering.ts';
import { ElementChain } from '../element-chain.ts';

/** Products that one launch takes. */
const MOST_PRODUCTS = 8;

/**
 * For few rows, products of weights that are numbers: those that do not build on each other are one launch, with the
 * element-wise operators that follow each.
 */
export function fuseProducts(op: Op, uses: GraphUses, to: Lowering): Fusion | undefined {
  if (op.kind !== 'matmul' || !isFloatMatvec(op, to)) return undefined;
  const products = new ProductGroup(uses, to).collect(op);
  return {
    ops: products.flatMap(({ op: product, chain }) => [product, ...chain.ops]),
    emit: () => launchFloatMatvec(to, products),
  };
}

/** Walks along the graph up to the first operator that has to run behind the group. */
class ProductGroup {
  readonly #products: FloatProduct[] = [];
  /** What the group computes: nobody may read it before the group is launched. */
  readonly #computed = new Set<Tensor>();

  constructor(
    readonly uses: GraphUses,
    readonly to: Lowering,
  ) {}

  collect(first: MatmulOp): readonly FloatProduct[] {
    const { ops } = this.to.graph;
    for (let place = this.uses.place(first); place < ops.length; place++) {
      const op = ops[place] as Op;
      if (!this.#readsGroup(op)) this.#join(op, first);
      else if (!this.#extend(op)) break;
    }
    return this.#products;
  }

  #readsGroup(op: Op): boolean {
    return operandsOf(op).some((operand) => operand.kind === 'tensor' && this.#computed.has(operand));
  }

  #join(op: Op, first: MatmulOp): void {
    if (op.kind !== 'matmul' || !isFloatMatvec(op, this.to)) return;
    const alike = op.weight.format === first.weight.format && op.x.axis === first.x.axis;
    if (!alike || this.#products.length === MOST_PRODUCTS) return;
    const chain = new ElementChain(op.out, `e${this.#products.length}_`);
    this.#products.push({ op, chain });
    this.#computed.add(op.out);
  }

  #extend(op: Op): boolean {
    const [result] = resultsOf(op);
    const owner = this.#products.find(({ chain }) => this.uses.onlyReader(chain.out) === op);
    if (!owner || !result) return false;
    if (!owner.chain.take(op, (tensor) => !this.#computed.has(tensor))) return false;
    this.#computed.add(result);
    return true;
  }
}

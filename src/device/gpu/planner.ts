import { invariant } from '../../base/errors.ts';
import { capacityOf, type Op, type OpGraph, type Tensor, type Weight } from '../../ops/index.ts';
import { dequantizedWeights } from './dequantized.ts';
import type { GpuFacts } from './facts.ts';
import type { Temporary } from './graph-lowering.ts';
import { GraphUses } from './graph-uses.ts';
import type { ActivationForm, Intent, OptionalKind } from './intent.ts';
import type { PlanScope } from './plan-scope.ts';
import { PlannedActivations } from './planned-activations.ts';

/** The state of planning: the graph and the target, the forms of activations, and the intents so far. */
export class GpuPlanner implements PlanScope {
  readonly uses: GraphUses;
  readonly activations = new PlannedActivations(this);
  /** Operators that are fused with others. */
  readonly taken = new Set<Op>();
  /** The weights that have dequantized copies. */
  readonly dequantized: ReadonlySet<Weight>;
  readonly #intents: Intent[] = [];

  constructor(
    readonly graph: OpGraph,
    readonly facts: GpuFacts,
  ) {
    this.uses = new GraphUses(graph);
    this.dequantized = dequantizedWeights(graph);
  }

  productForm(weights: readonly Weight[], rows: number): ActivationForm {
    return this.readsCopies(weights, rows) ? 'f16' : this.facts.productForm(weights, rows);
  }

  /** Whether a product of so many rows is the BLAS library's by dequantized copies. */
  readsCopies(weights: readonly Weight[], rows: number): boolean {
    const areMany = this.has('libraryProduct') && rows >= this.facts.copiedRows;
    return areMany && weights.every((weight) => this.dequantized.has(weight));
  }

  /** What the target has to launch, in order. */
  get intents(): readonly Intent[] {
    return this.#intents;
  }

  capacity(tensor: Tensor): number {
    return capacityOf(tensor.axis, this.graph.shape);
  }

  hasFewRows(tensor: Tensor): boolean {
    return this.capacity(tensor) <= this.facts.fewRows;
  }

  hasMatvecRows(tensor: Tensor): boolean {
    return this.capacity(tensor) <= this.facts.matvecRows;
  }

  temporary(byteLength: number): Temporary {
    return { kind: 'temporary', byteLength };
  }

  /** Whether the device has kernels for such intents. */
  has(kind: OptionalKind): boolean {
    return !this.facts.lacks.includes(kind);
  }

  add(intent: Intent): void {
    const { device, lacks } = this.facts;
    invariant(!lacks.some((kind) => kind === intent.kind), `${device} has kernels for ${intent.kind}`);
    this.#intents.push(intent);
  }
}

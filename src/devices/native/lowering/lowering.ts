import { fail, invariant } from '../../../base/errors.ts';
import { type Lifespan, planLifespans } from '../../../device/index.ts';
import { capacityOf, type OpGraph, type Tensor, tensorBytes, type Weight } from '../../../ops/index.ts';
import type { NativeTarget } from '../launching/kernel-set.ts';
import { type KernelModule, moduleKey } from '../launching/launch.ts';
import { Activations } from './activations.ts';
import type { LaunchPlan, LaunchScope, Operand, ProductPlan, Temporary } from './launch-plan.ts';
import type { Arg, LaunchTemplate, NativeWeight, ProductTemplate } from './launch-template.ts';
import { LoweredProgram } from './lowered-program.ts';
import type { WeightLayout } from './weight-layout.ts';

/** A kernel with its module, or a product of the BLAS library. */
type PlannedLaunch =
  | { readonly plan: LaunchPlan; readonly module: KernelModule }
  | { readonly plan: ProductPlan; readonly module?: undefined };

/** Collects the launches of a graph, the weights they want and the scratch they share. */
export class Lowering implements LaunchScope {
  readonly activations = new Activations(this);
  readonly #launches: PlannedLaunch[] = [];
  readonly #weights = new Map<string, NativeWeight>();
  readonly #modules = new Map<string, KernelModule>();
  readonly #outputs: ReadonlySet<Tensor>;

  constructor(
    readonly graph: OpGraph,
    readonly target: NativeTarget,
  ) {
    this.#outputs = new Set(graph.outputs.map(({ tensor }) => tensor));
  }

  /** True for a tensor that is bound from outside as an output. */
  isOutput(tensor: Tensor): boolean {
    return this.#outputs.has(tensor);
  }

  capacity(tensor: Tensor): number {
    return capacityOf(tensor.axis, this.graph.shape);
  }

  count(tensor: Tensor): Arg {
    const { axis } = tensor;
    if (axis !== 'rows' && axis !== 'outputs') {
      const why = `its rows run over ${axis}`;
      fail('OP_UNSUPPORTED', { device: this.target.api, op: tensor.name, why });
    }
    return { kind: 'address', of: this.graph.batch.counts, offset: axis === 'rows' ? 0 : 4 };
  }

  temporary(byteLength: number): Temporary {
    return { kind: 'temporary', byteLength };
  }

  weight(parts: readonly Weight[], layout: WeightLayout): NativeWeight {
    const key = [layout.name, ...parts.map(({ id }) => id)].join(' ');
    const known = this.#weights.get(key);
    if (known) return known;
    const weight = layout.of(parts);
    const module = layout.module(parts);
    if (module) this.#addModule(module);
    this.#weights.set(key, weight);
    return weight;
  }

  launch(plan: LaunchPlan): void {
    const module = this.#addModule({
      file: plan.file,
      defines: this.target.programmatic ? { ...plan.defines, PROGRAMMATIC: 1 } : (plan.defines ?? {}),
    });
    this.#launches.push({ plan, module });
  }

  multiply(plan: ProductPlan): void {
    this.#launches.push({ plan });
  }

  finish(): LoweredProgram {
    const spans = this.#lifespans();
    const { offsets, byteLength } = planLifespans([...spans.values()]);
    const places = new Map([...spans.keys()].map((value, i) => [value, offsets[i] as number]));
    return new LoweredProgram({
      weights: [...this.#weights.values()],
      scratchBytes: byteLength,
      modules: [...this.#modules.values()],
      templates: this.#launches.map((planned) => this.#template(planned, places)),
    });
  }

  #addModule(module: KernelModule): KernelModule {
    const key = moduleKey(module);
    const known = this.#modules.get(key);
    if (!known) this.#modules.set(key, module);
    return known ?? module;
  }

  #lifespans(): Map<Tensor | Temporary, Lifespan> {
    const spans = new Map<Tensor | Temporary, { byteLength: number; first: number; last: number }>();
    this.#launches.forEach(({ plan }, index) => {
      for (const operand of plan.args) {
        const scratch = this.#scratchOf(operand);
        if (!scratch) continue;
        const span = spans.get(scratch);
        const byteLength =
          scratch.kind === 'tensor' ? tensorBytes(scratch, this.graph.shape) : scratch.byteLength;
        if (span) span.last = index;
        else spans.set(scratch, { byteLength, first: index, last: index });
      }
    });
    return spans;
  }

  /** The operand where it lies in scratch, else undefined. */
  #scratchOf(operand: Operand): Tensor | Temporary | undefined {
    if (!('kind' in operand)) return undefined;
    if (operand.kind === 'temporary') return operand;
    const inside = operand.kind === 'tensor' && operand.role === 'temp' && !this.#outputs.has(operand);
    return inside ? operand : undefined;
  }

  #template(
    planned: PlannedLaunch,
    places: ReadonlyMap<Tensor | Temporary, number>,
  ): LaunchTemplate | ProductTemplate {
    const args = planned.plan.args.map((operand) => this.#argument(operand, places));
    if (!planned.module) {
      const { shape, factor } = planned.plan;
      return { shape, factor, args };
    }
    const { plan, module } = planned;
    const { kernel, block, sharedBytes = 0 } = plan;
    const [x, y = 1, z = 1] = plan.grid;
    return {
      module,
      kernel,
      grid: [x, y, z],
      block,
      sharedBytes,
      args,
      programmatic: this.target.programmatic,
    };
  }

  #argument(operand: Operand, places: ReadonlyMap<Tensor | Temporary, number>): Arg {
    const scratch = this.#scratchOf(operand);
    if (scratch) {
      const offset = places.get(scratch);
      invariant(offset !== undefined, 'scratch has a place');
      return { kind: 'address', of: 'scratch', offset };
    }
    if (!('kind' in operand)) return { kind: 'address', of: operand, offset: 0 };
    if (operand.kind === 'tensor' || operand.kind === 'state') {
      return { kind: 'address', of: operand, offset: 0 };
    }
    invariant(operand.kind !== 'temporary', 'temporaries are scratch');
    return operand;
  }
}

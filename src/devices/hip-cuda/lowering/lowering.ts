import { invariant } from '../../../base/errors.ts';
import { dequantizedWeights, GraphLowering, type LaunchScratch } from '../../../device/index.ts';
import type { OpGraph, Tensor, Weight } from '../../../ops/index.ts';
import type { GroupedChoices } from './grouped-choices.ts';
import type { HipCudaTarget } from '../launching/kernel-set.ts';
import { type KernelModule, moduleKey } from '../launching/launch.ts';
import type {
  CollectivePlan,
  LaunchPlan,
  LaunchScope,
  Operand,
  ProductPlan,
  UnfinishedSums,
} from './launch-plan.ts';
import type { AnyTemplate, Arg } from './launch-template.ts';
import { LoweredProgram } from './lowered-program.ts';
import { DEQUANTIZED_LAYOUT, GROUP_LAYOUT, type WeightLayout } from './weight-layout.ts';
import type { HipCudaWeight } from '../launching/kernel-set.ts';

/** A kernel with its module, a product of the BLAS library, or a collective of the link's. */
type PlannedLaunch =
  | { readonly plan: LaunchPlan; readonly module: KernelModule }
  | { readonly plan: ProductPlan | CollectivePlan; readonly module?: undefined };

/** Collects the launches of a graph, the weights they need and the scratch they share. */
export class Lowering extends GraphLowering<HipCudaWeight> implements LaunchScope {
  readonly #launches: PlannedLaunch[] = [];
  readonly #modules = new Map<string, KernelModule>();
  /** The weights that have dequantized copies beside them. */
  readonly #dequantized: ReadonlySet<Weight>;
  /** Sums of the last launch, and what adds them up by itself. */
  #unfinished: { readonly sums: UnfinishedSums; readonly finish: () => void } | undefined;
  /** The choices of experts that are grouped, by the tensor of their ids. */
  readonly groupedChoices = new Map<Tensor, GroupedChoices>();

  constructor(
    graph: OpGraph,
    readonly target: HipCudaTarget,
  ) {
    super(graph);
    this.#dequantized = target.blas ? dequantizedWeights(graph) : new Set();
  }

  count(tensor: Tensor): Arg {
    const index = this.countIndex(tensor, this.target.api);
    return { kind: 'address', of: this.graph.batch.counts, offset: 4 * index };
  }

  weight(parts: readonly Weight[], asked: WeightLayout): HipCudaWeight {
    const isCopied = asked === GROUP_LAYOUT && parts.every((part) => this.#dequantized.has(part));
    const layout = isCopied ? DEQUANTIZED_LAYOUT : asked;
    return this.weightOnce(parts, layout.name, () => {
      const weight = layout.of(parts);
      for (const module of layout.modules(parts)) this.#addModule(module);
      return weight;
    });
  }

  /** Leaves sums to the next launch: if that does not take them, `finish` adds them up before it. */
  leave(sums: UnfinishedSums, finish: () => void): void {
    this.#unfinished = { sums, finish };
  }

  /** The sums with such an epilogue that the last launch has left for `y`, which the caller's next launch adds up. */
  take(y: Operand, epilogue: UnfinishedSums['epilogue']): UnfinishedSums | undefined {
    const sums = this.#unfinished?.sums;
    if (sums?.y !== y || sums.epilogue !== epilogue) return undefined;
    this.#unfinished = undefined;
    return sums;
  }

  #finishSums(): void {
    const left = this.#unfinished;
    this.#unfinished = undefined;
    left?.finish();
  }

  launch(plan: LaunchPlan): void {
    this.#finishSums();
    const module = this.#addModule({
      file: plan.file,
      defines: this.target.programmatic ? { ...plan.defines, PROGRAMMATIC: 1 } : (plan.defines ?? {}),
    });
    this.#launches.push({ plan, module });
  }

  multiply(plan: ProductPlan): void {
    this.#finishSums();
    this.#launches.push({ plan });
  }

  collect(plan: CollectivePlan): void {
    this.#finishSums();
    this.#launches.push({ plan });
  }

  finish(): LoweredProgram {
    this.#finishSums();
    const scratch = this.planScratch(this.#launches.map(({ plan }) => plan.args));
    return new LoweredProgram({
      weights: this.weights,
      scratchBytes: scratch.byteLength,
      modules: [...this.#modules.values()],
      templates: this.#launches.map((planned) => this.#template(planned, scratch)),
    });
  }

  #addModule(module: KernelModule): KernelModule {
    const key = moduleKey(module);
    const known = this.#modules.get(key);
    if (!known) this.#modules.set(key, module);
    return known ?? module;
  }

  #template(planned: PlannedLaunch, scratch: LaunchScratch): AnyTemplate {
    const args = planned.plan.args.map((operand) => argumentOf(operand, scratch));
    if (!planned.module) return { ...planned.plan, args };
    const { plan, module } = planned;
    const { kernel, block, sharedBytes = 0, residentBlocks, cluster } = plan;
    const [x, y = 1, z = 1] = plan.grid;
    return {
      module,
      kernel,
      grid: [x, y, z],
      block,
      sharedBytes,
      residentBlocks,
      cluster,
      args,
      programmatic: this.target.programmatic,
    };
  }
}

function argumentOf(operand: Operand, scratch: LaunchScratch): Arg {
  const offset = scratch.offsetOf(operand);
  if (offset !== undefined) return { kind: 'address', of: 'scratch', offset };
  if (!('kind' in operand)) return { kind: 'address', of: operand, offset: 0 };
  if (operand.kind === 'tensor' || operand.kind === 'state') {
    return { kind: 'address', of: operand, offset: 0 };
  }
  invariant(operand.kind !== 'temporary', 'temporaries are scratch');
  return operand;
}

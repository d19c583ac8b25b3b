import { invariant } from '../../base/errors.ts';
import type { ExpertPiece } from '../../model/expert-place.ts';
import type { AsyncModelLoader } from '../../load/async-model-loader.ts';
import type { LazyTensor } from '../../load/lazy-tensor.ts';
import { type ExpertCounts, ExpertWeights } from '../weights/expert-weights.ts';
import type { BatchPlan } from './batch-plan.ts';
import { runExperts } from './expert-step.ts';
import type { RunTarget } from './plan-run.ts';

/** Where a part runs. */
export type PartTarget = Pick<RunTarget, 'stream' | 'batch' | 'input'>;

/** The experts of a model that are streamed by use: which are on the device, layer by layer, and how steps compute them. */
export class StreamedExperts {
  readonly counts: ExpertCounts = { hits: 0, misses: 0, bytes: 0 };
  /** Loads whose end the step has not waited for. */
  readonly #arrivals: Promise<void>[] = [];
  readonly #loader: Pick<AsyncModelLoader, 'checkUnchanged'>;
  /** A weight of each file. */
  readonly #files = new Map<unknown, LazyTensor>();
  /** By the part that computes all experts of a layer at once. */
  readonly #layers = new Map<number, ExpertWeights>();

  /** `weights` are those of each part of the model; every plan of it has the same parts. */
  constructor(
    plan: BatchPlan,
    weights: readonly (readonly LazyTensor[])[],
    loader: Pick<AsyncModelLoader, 'copyPinned' | 'checkUnchanged'>,
  ) {
    this.#loader = loader;
    for (const [part, tensors] of weights.entries()) {
      const layer = plan.expertsOf(part);
      if (layer?.role !== 'whole') continue;
      const slotted = tensors.filter(({ slots }) => slots !== undefined);
      for (const tensor of slotted) for (const { source } of tensor.tensors) this.#files.set(source, tensor);
      this.#layers.set(
        part,
        new ExpertWeights(slotted, { ...layer, counts: this.counts, loader, arrivals: this.#arrivals }),
      );
    }
  }

  /** True for a part that computes the experts of a layer. */
  has(part: number): boolean {
    return this.#layers.has(part);
  }

  /** Resolves when all experts that the step has loaded are known to be the file's. Rejects as a load. */
  async arrived(): Promise<void> {
    const arrivals = this.#arrivals.splice(0);
    if (arrivals.length === 0) return;
    const checks = [...this.#files.values()].map((tensor) => this.#loader.checkUnchanged(tensor));
    try {
      await Promise.all([...arrivals, ...checks]);
    } catch (error) {
      // What came is not known to be the file's.
      for (const { cache } of this.#layers.values()) cache.clear();
      throw error;
    }
  }

  /** Empties the slots of parts whose memory is released. */
  forget(parts: readonly number[]): void {
    for (const part of parts) this.#layers.get(part)?.cache.clear();
  }

  /** Computes the rest of a layer, whose weights are held; `run` queues a part. Rejects as `runExperts`. */
  async run(
    { stream, batch, input }: PartTarget,
    whole: number,
    run: (part: number) => Promise<void>,
  ): Promise<void> {
    const experts = this.#layers.get(whole);
    const { topK } = batch.expertsOf(whole) ?? {};
    invariant(experts && topK, 'the part computes experts');
    await runExperts({
      stream,
      experts,
      rows: input.view('counts')[0] as number,
      topK,
      range: (name) => batch.buffers.get(name),
      run: (role) => run(pieceOf(batch, whole, role)),
    });
  }
}

/** The piece of the same layer with another role. */
function pieceOf({ parts }: BatchPlan, whole: number, role: ExpertPiece['role']): number {
  const order = parts[whole]?.part.order;
  const piece = parts.findIndex(({ part }) => part.order === order && part.experts?.role === role);
  invariant(piece >= 0, 'a layer has all pieces');
  return piece;
}

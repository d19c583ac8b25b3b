import { fail, invariant } from '../../base/errors.ts';
import type { ExpertPiece } from '../../model/expert-place.ts';
import type { AsyncModelLoader } from '../../load/async-model-loader.ts';
import type { LazyTensor } from '../../load/lazy-tensor.ts';
import { type ExpertCounts, ExpertWeights } from '../weights/expert-weights.ts';
import type { ExpertSlots } from '../experts/expert-pieces.ts';
import type { FitPlan } from '../memory/fit-plan.ts';
import type { BatchPlan } from './batch-plan.ts';
import { type NextExperts, runExperts } from './expert-step.ts';
import type { RunTarget } from './plan-run.ts';

/** Where a part runs. */
export type PartTarget = Pick<RunTarget, 'stream' | 'batch' | 'input'>;

/** How the experts of a model are streamed, and where its memory is. */
export interface StreamedExpertsSetup extends Pick<ExpertSlots, 'prefetch'> {
  readonly loader: Pick<AsyncModelLoader, 'copyPinned' | 'checkUnchanged'>;
  readonly fit: Pick<FitPlan, 'streamedParts'>;
  /** Given if other models may take its memory. */
  readonly sharedMemory?: unknown;
}

/** The experts of a model that are streamed by use: which are on the device, layer by layer, and how steps compute them. */
export class StreamedExperts {
  readonly counts: ExpertCounts = { hits: 0, misses: 0, prefetched: 0, prefetchedUsed: 0, bytes: 0 };
  /** Loads whose end the step has not waited for. */
  readonly #arrivals: Promise<void>[] = [];
  readonly #loader: Pick<AsyncModelLoader, 'checkUnchanged'>;
  /** A weight of each file. */
  readonly #files = new Map<unknown, LazyTensor>();
  /** By the part that computes all experts of a layer at once. */
  readonly #layers = new Map<number, ExpertWeights>();
  /** Most experts of a layer that are loaded ahead. */
  readonly #most: number;

  /**
   * `weights` are those of each part of the model; every plan of it has the same parts. Throws `INVALID_ARGUMENT` where a layer's
   * memory may be taken, or used by another layer, while its experts are loaded ahead.
   */
  constructor(plan: BatchPlan, weights: readonly (readonly LazyTensor[])[], of: StreamedExpertsSetup) {
    const { loader, prefetch, fit, sharedMemory } = of;
    if (prefetch > 0 && (sharedMemory !== undefined || fit.streamedParts > 0)) {
      const expected = sharedMemory
        ? 'a model that shares its memory with no other'
        : 'memory for all but experts';
      fail('INVALID_ARGUMENT', { name: 'expertPrefetch', found: `${prefetch}`, expected });
    }
    this.#loader = loader;
    this.#most = prefetch;
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

  /** Runs a step; it has ended when all experts that it has loaded are known to be the file's. Rejects as the step, or as a load. */
  async step(run: () => Promise<void>): Promise<void> {
    try {
      await run();
    } catch (error) {
      await this.#abandon();
      throw error;
    }
    await this.#arrived();
  }

  async #arrived(): Promise<void> {
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

  /** Forgets what a step that failed has loaded, once nothing of it is on its way: the next step loads again. */
  async #abandon(): Promise<void> {
    const layers = [...this.#layers.values()];
    await Promise.allSettled([...this.#arrivals.splice(0), ...layers.map((layer) => layer.settled())]);
    for (const { cache } of layers) cache.clear();
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
      next: this.#most > 0 ? this.#nextOf(batch, whole, run) : undefined,
    });
  }

  /** The layer with experts behind another one, if it can be guessed which ones it chooses. */
  #nextOf(batch: BatchPlan, whole: number, run: (part: number) => Promise<void>): NextExperts | undefined {
    const next = [...this.#layers.keys()].find((part) => part > whole);
    const experts = this.#layers.get(next ?? -1);
    const likely = next === undefined ? -1 : findPiece(batch, next, 'likely');
    const { topK } = batch.expertsOf(likely) ?? {};
    if (!experts || topK === undefined) return undefined;
    const guess = async (): Promise<number> => {
      await run(likely);
      return topK;
    };
    return { experts, most: this.#most, guess };
  }
}

/** The piece of the same layer with another role. */
function pieceOf(batch: BatchPlan, whole: number, role: ExpertPiece['role']): number {
  const piece = findPiece(batch, whole, role);
  invariant(piece >= 0, 'a layer has all pieces');
  return piece;
}

/** The same, or -1. */
function findPiece({ parts }: BatchPlan, whole: number, role: ExpertPiece['role']): number {
  const prefix = parts[whole]?.part.prefix;
  return parts.findIndex(({ part }) => part.prefix === prefix && part.experts?.role === role);
}

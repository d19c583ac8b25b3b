import { Lifetime } from '../base/disposal.ts';
import { fail, invariant, throwIfAborted } from '../base/errors.ts';
import { type Logger, silentLogger } from '../base/log.ts';
import type { Device, Stream } from '../device/index.ts';
import type { ExecutionPlan } from '../model/execution-plan.ts';
import type { SequenceState } from '../model/sequence-state.ts';
import { ContinuousBatcher, type StepPlan } from './continuous-batcher.ts';
import { FORCED_SLOT, type ForcedInput, forcedLogits, type PositionLogits } from './forced-logits.ts';
import { JobPipeline } from './job-pipeline.ts';
import { DEFAULT_RUNTIME, type RuntimeOptions } from './runtime-options.ts';
import { restoreSlot, type SequenceSnapshot, saveSlot } from './sequence-snapshot.ts';
import type { SampledToken } from './sampled-token.ts';
import { type GenerateRequest, type GenerationEnd, Sequence, type SequenceActivity } from './sequence.ts';
import { SharedLock } from './shared-lock.ts';
import { SlotPool } from './slot-pool.ts';
import type { StepProfile } from './step-profile.ts';

/** Tokens as they are sampled. `next(true)` ends the generation after the token that came last. */
export type TokenStream = AsyncGenerator<SampledToken, GenerationEnd, boolean | undefined>;

/** What an engine runs on. */
export interface EngineParts {
  readonly device: Device;
  /** Allocated and loaded; the engine does not own it. */
  readonly plan: ExecutionPlan;
  readonly state: SequenceState;
  readonly logger?: Logger | undefined;
  /** Default: everything on. */
  readonly runtime?: Partial<RuntimeOptions> | undefined;
  /** Is told where the time of steps goes. */
  readonly profile?: StepProfile | undefined;
}

/** What an engine has done so far. */
export interface EngineCounters {
  readonly steps: number;
  /** Bytes of results that were read back. */
  readonly bytesBack: number;
  /** Whole steps that were recorded already when they were wanted, and those that were not. */
  readonly preparedHits: number;
  readonly preparedMisses: number;
}

/** What an engine is busy with, in the order of arrival. */
export interface EngineActivity {
  readonly slots: number;
  readonly context: number;
  readonly sequences: readonly SequenceActivity[];
}

/**
 * Runs many sequences at once on an allocated and loaded plan: their rows are batched step by step, and while one step
 * runs the next is already queued. What a sequence left in the cache is used again by the next one that begins with the
 * same tokens.
 */
export class Engine implements AsyncDisposable {
  readonly #parts: EngineParts;
  readonly #log: Logger;
  readonly #stream: Stream;
  readonly #slots: SlotPool;
  readonly #batcher: ContinuousBatcher<Sequence>;
  readonly #pipeline: JobPipeline<Sequence>;
  readonly #sequences = new Set<Sequence>();
  readonly #lock = new SharedLock();
  readonly #isPipelined: boolean;
  readonly #life = new Lifetime('the engine');
  #isDriving = false;
  #driven: Promise<void> = Promise.resolve();

  constructor(parts: EngineParts) {
    const { device, plan, state, logger, profile } = parts;
    const runtime = { ...DEFAULT_RUNTIME, ...parts.runtime };
    this.#parts = parts;
    this.#isPipelined = runtime.pipelined && runtime.sampling === 'device';
    this.#log = logger ?? silentLogger;
    this.#stream = device.createStream('compute');
    this.#slots = new SlotPool(state, plan.shape.slots);
    const continuous = runtime.batching === 'continuous';
    this.#batcher = new ContinuousBatcher(plan.shape, this.#slots, { chains: this.#isPipelined, continuous });
    this.#pipeline = new JobPipeline({ plan, state, stream: this.#stream, runtime, profile });
  }

  /** Positions that a sequence may have. */
  get context(): number {
    return this.#parts.state.context;
  }

  /** What it has done so far. */
  get counters(): EngineCounters {
    const { steps, bytesBack } = this.#pipeline;
    const { hits, misses } = this.#parts.plan.prepared;
    return { steps, bytesBack, preparedHits: hits, preparedMisses: misses };
  }

  /** What it is busy with at this moment. */
  get activity(): EngineActivity {
    const { slots } = this.#parts.plan.shape;
    const sequences = Array.from(this.#sequences, (sequence) => sequence.activity());
    return { slots, context: this.context, sequences };
  }

  /**
   * Yields tokens until a stop token, `next(true)`, the most tokens asked for, or the context's end. Rejects with
   * `PROMPT_EMPTY`, `CONTEXT_OVERFLOW`, `TOKEN_OUT_OF_RANGE`, `ABORTED` or the device's error.
   */
  async *generate(request: GenerateRequest): TokenStream {
    this.#checkPrompt(request.prompt);
    const leave = await this.#lock.share();
    const { signal } = request;
    const sequence = new Sequence(request, {
      context: this.context,
      vocabulary: this.#parts.plan.vocabulary,
      log: this.#log,
    });
    const onAbort = () => this.#abort(sequence, signal);
    try {
      await sequence.fillMask();
      throwIfAborted(signal, 'generation');
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#add(sequence);
      for (;;) {
        const read = await sequence.queue.read();
        if ('end' in read) return read.end;
        // A sequence that had to wait for its reader may go on.
        this.#drive();
        if (yield read.value) this.#end(sequence);
      }
    } finally {
      signal?.removeEventListener('abort', onAbort);
      this.#remove(sequence);
      leave();
    }
  }

  /** Yields the logits at every position from `from` on, given all tokens before it: forced decoding. */
  async *evaluate(ids: readonly number[], from = 0, signal?: AbortSignal): AsyncGenerator<PositionLogits> {
    this.#checkPrompt(ids);
    const leave = await this.#lock.alone();
    try {
      await this.#driven;
      this.#slots.forget();
      const input: ForcedInput = { ids, from, signal };
      yield* forcedLogits({ ...this.#parts, stream: this.#stream }, input);
    } finally {
      this.#slots.forget();
      leave();
    }
  }

  /** Computes `ids` and saves the recurrent state behind them. Rejects as `evaluate`. */
  async save(ids: readonly number[], signal?: AbortSignal): Promise<SequenceSnapshot> {
    this.#checkPrompt(ids);
    const leave = await this.#lock.alone();
    try {
      await this.#driven;
      this.#slots.forget();
      const { plan, state } = this.#parts;
      const on = { plan, state, stream: this.#stream };
      // Nobody's logits are wanted.
      for await (const _ of forcedLogits(on, { ids, from: ids.length, signal }));
      return { ids: [...ids], states: await saveSlot(plan, this.#stream, FORCED_SLOT) };
    } finally {
      this.#slots.forget();
      leave();
    }
  }

  /**
   * Puts a saved state into an idle slot, for a sequence that begins with its ids and goes on; more slots, more sequences.
   * Rejects with `INVALID_ARGUMENT` for another model's.
   */
  async restore({ ids, states }: SequenceSnapshot): Promise<void> {
    this.#checkPrompt(ids);
    const leave = await this.#lock.alone();
    try {
      await this.#driven;
      const taken = this.#slots.take([]);
      invariant(taken, 'a slot is idle while nobody else runs');
      let held: readonly number[] = [];
      try {
        await restoreSlot({ plan: this.#parts.plan, stream: this.#stream, slot: taken.slot }, states);
        held = ids;
      } finally {
        this.#slots.give(taken.slot, held);
      }
    } finally {
      leave();
    }
  }

  /** Forgets what ended sequences left in the cache. */
  reset(): void {
    this.#slots.forget();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#life.end()) return;
    for (const sequence of this.#sequences) this.#abort(sequence, undefined);
    await this.#driven;
    this.#pipeline[Symbol.dispose]();
    await this.#stream[Symbol.asyncDispose]();
  }

  #checkPrompt(ids: readonly number[]): void {
    this.#life.check();
    const size = this.#parts.plan.vocabulary;
    if (ids.length === 0) fail('PROMPT_EMPTY', {});
    if (ids.length > this.context) fail('CONTEXT_OVERFLOW', { tokens: ids.length, context: this.context });
    for (const id of ids) {
      if (!(Number.isInteger(id) && id >= 0 && id < size)) fail('TOKEN_OUT_OF_RANGE', { id, size });
    }
  }

  #add(sequence: Sequence): void {
    if (sequence.ids.length >= sequence.limit) {
      sequence.end('length');
      return;
    }
    this.#sequences.add(sequence);
    this.#batcher.add(sequence);
    this.#drive();
  }

  /** Ends a sequence whose reader has read enough. */
  #end(sequence: Sequence): void {
    this.#remove(sequence);
    sequence.stop();
  }

  #abort(sequence: Sequence, signal: AbortSignal | undefined): void {
    if (sequence.ended) return;
    this.#remove(sequence);
    try {
      throwIfAborted(signal, 'generation');
      this.#life.check();
    } catch (error) {
      sequence.fail(error);
    }
  }

  #remove(sequence: Sequence): void {
    if (this.#sequences.delete(sequence)) this.#batcher.remove(sequence);
  }

  /** Starts the steps unless they are running. */
  #drive(): void {
    if (this.#isDriving) return;
    this.#isDriving = true;
    this.#driven = this.#run();
  }

  /** Submits and completes steps as long as there is something to do. Never rejects: sequences take the errors. */
  async #run(): Promise<void> {
    try {
      for (;;) {
        const begin = this.#parts.profile ? performance.now() : 0;
        const step = this.#isReady ? this.#batcher.next() : undefined;
        if (step) await this.#submit(step, begin);
        else if (this.#pipeline.isEmpty) return;
        else await this.#pipeline.complete(this.#deliver);
      }
    } catch (error) {
      await this.#pipeline.drain();
      for (const sequence of this.#sequences) {
        this.#remove(sequence);
        sequence.fail(error);
      }
      // What the failed steps were to write is not there.
      this.#slots.forget();
    } finally {
      this.#isDriving = false;
      this.#parts.profile?.pause();
    }
  }

  /** True when a step may be submitted. */
  get #isReady(): boolean {
    return this.#isPipelined ? !this.#pipeline.isFull : this.#pipeline.isEmpty;
  }

  #submit(step: StepPlan<Sequence>, begin: number): Promise<void> {
    for (const { sequence, first } of step.slices) sequence.begin(first);
    if (this.#log.enabled('trace')) this.#trace(step);
    return this.#pipeline.submit(step, begin);
  }

  readonly #deliver = (sequence: Sequence, token: SampledToken): void => {
    sequence.place.pending--;
    if (sequence.ended || !this.#sequences.has(sequence)) return;
    if (sequence.accept(token)) this.#remove(sequence);
    else if (sequence.awaitsHost) void this.#fillMask(sequence);
  };

  /** Lets a constrained sequence go on when its next mask is there; the others go on meanwhile. Never rejects. */
  async #fillMask(sequence: Sequence): Promise<void> {
    try {
      await sequence.fillMask();
      this.#drive();
    } catch (error) {
      if (!this.#sequences.has(sequence)) return;
      this.#remove(sequence);
      sequence.fail(error);
    }
  }

  #trace({ rows, outputs, slices }: StepPlan<Sequence>): void {
    this.#log.trace('step', { rows, outputs, sequences: slices.length, waiting: this.#batcher.waiting });
  }
}

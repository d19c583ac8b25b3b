import { Lifetime } from '../base/disposal.ts';
import { fail, invariant, throwIfAborted } from '../base/errors.ts';
import { type Logger, silentLogger } from '../base/log.ts';
import type { Device, Stream } from '../device/index.ts';
import type { BatchPlan } from '../model/batch-plan.ts';
import type { ExecutionPlan } from '../model/execution-plan.ts';
import type { SequenceState } from '../model/sequence-state.ts';
import {
  DEFAULT_SAMPLING,
  MAX_LOG_PROBABILITIES,
  SAMPLING_ROW_WORDS,
  type SamplingParameters,
  writeSamplingRow,
} from '../ops/index.ts';
import { readReport, type SampledToken } from './sampled-token.ts';
import { Turnstile } from './turnstile.ts';

/** A continuation to be generated. */
export interface GenerateRequest {
  readonly prompt: readonly number[];
  readonly sampling: SamplingParameters;
  /** Most tokens to generate; the context's end stops earlier. */
  readonly maxTokens: number;
  /** Ids that end the generation; they are not given out. */
  readonly stopTokens: ReadonlySet<number>;
  readonly signal?: AbortSignal | undefined;
}

/** Why a generation ended, and what it took. */
export interface GenerationEnd {
  readonly reason: 'stop' | 'length';
  readonly promptTokens: number;
  /** Prompt tokens that were still in the cache from the call before. */
  readonly cachedTokens: number;
  readonly generatedTokens: number;
  readonly promptSeconds: number;
  readonly generateSeconds: number;
  /** What this thread spent on queueing steps, out of both. */
  readonly submitSeconds: number;
}

/** Tokens as they are sampled. `next(true)` ends the generation after the token that came last. */
export type TokenStream = AsyncGenerator<SampledToken, GenerationEnd, boolean | undefined>;

/** The logits of one position, valid until the next one is asked for. */
export interface PositionLogits {
  readonly position: number;
  readonly logits: Float32Array;
}

/** The only sequence's slot. */
const SLOT = 0;

/**
 * Runs one sequence at a time on an allocated and loaded plan. What the last call left in the cache is used again as far as
 * the next prompt begins with the same tokens. Calls wait for each other.
 */
export class Engine implements AsyncDisposable {
  readonly #plan: ExecutionPlan;
  readonly #state: SequenceState;
  readonly #vocabulary: number;
  readonly #log: Logger;
  readonly #stream: Stream;
  readonly #turns = new Turnstile();
  readonly #life = new Lifetime('the engine');
  /** Where sampled tokens arrive: two steps may be on their way. */
  readonly #arrivals = [0, 1].map(() => new Float32Array(2 * (1 + MAX_LOG_PROBABILITIES)));
  #sampling: SamplingParameters = DEFAULT_SAMPLING;
  /** The ids of the positions in the cache, as far as they are known here. */
  #cached: number[] = [];
  /** Positions in the cache when all queued steps are done. */
  #length = 0;
  /** What queueing steps took since the generation began. */
  #submitSeconds = 0;

  constructor(of: {
    device: Device;
    plan: ExecutionPlan;
    state: SequenceState;
    vocabulary: number;
    logger?: Logger | undefined;
  }) {
    this.#plan = of.plan;
    this.#state = of.state;
    this.#vocabulary = of.vocabulary;
    this.#log = of.logger ?? silentLogger;
    this.#stream = of.device.createStream('compute');
  }

  /** Positions that a sequence may have. */
  get context(): number {
    return this.#state.context;
  }

  /**
   * Yields tokens until a stop token, `next(true)`, the most tokens asked for, or the context's end. Rejects with `PROMPT_EMPTY`,
   * `CONTEXT_OVERFLOW`, `TOKEN_OUT_OF_RANGE`, `ABORTED` or the device's error.
   */
  async *generate(request: GenerateRequest): TokenStream {
    this.#checkPrompt(request.prompt);
    const leave = await this.#turns.enter();
    try {
      return yield* this.#generate(request);
    } finally {
      leave();
    }
  }

  /** Yields the logits at every position from `from` on, given all tokens before it: forced decoding. */
  async *evaluate(ids: readonly number[], from = 0, signal?: AbortSignal): AsyncGenerator<PositionLogits> {
    this.#checkPrompt(ids);
    const leave = await this.#turns.enter();
    try {
      yield* this.#evaluate(ids, from, signal);
    } finally {
      leave();
    }
  }

  /** Forgets the sequence that the last call left in the cache. */
  reset(): void {
    this.#cached = [];
    this.#length = 0;
    this.#state.truncate(SLOT, 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#life.end()) await this.#stream[Symbol.asyncDispose]();
  }

  #checkPrompt(ids: readonly number[]): void {
    this.#life.check();
    if (ids.length === 0) fail('PROMPT_EMPTY', {});
    if (ids.length > this.context) fail('CONTEXT_OVERFLOW', { tokens: ids.length, context: this.context });
    for (const id of ids) {
      if (!(Number.isInteger(id) && id >= 0 && id < this.#vocabulary)) {
        fail('TOKEN_OUT_OF_RANGE', { id, size: this.#vocabulary });
      }
    }
  }

  async *#generate(request: GenerateRequest): TokenStream {
    const { prompt, maxTokens, stopTokens, signal } = request;
    this.#sampling = request.sampling;
    this.#submitSeconds = 0;
    const begin = performance.now();
    const cachedTokens = this.#keepPrefix(prompt);
    let coming: Promise<SampledToken> | undefined;
    let generatedTokens = 0;
    let promptSeconds = 0;
    let reason: GenerationEnd['reason'] = 'length';
    try {
      await this.#readAllButLast(prompt, signal);
      const rest = prompt.slice(this.#length);
      coming = this.#submit(rest, { wanted: true, continued: false });
      this.#cached.push(...rest);
      while (coming && generatedTokens < maxTokens) {
        // The step behind this token is queued before the token is known: the device goes on while it comes back.
        const goesOn = generatedTokens + 1 < maxTokens && this.#length < this.context;
        const next: Promise<SampledToken> | undefined = goesOn ? this.#continue() : undefined;
        const now: Promise<SampledToken> = coming;
        coming = next;
        const token = await now;
        if (next) this.#cached.push(token.id);
        if (generatedTokens === 0) {
          promptSeconds = (performance.now() - begin) / 1000;
          this.#log.debug('prompt read', {
            tokens: prompt.length,
            cached: cachedTokens,
            seconds: promptSeconds,
          });
        }
        if (stopTokens.has(token.id)) {
          reason = 'stop';
          break;
        }
        generatedTokens++;
        if (yield token) {
          reason = 'stop';
          break;
        }
        throwIfAborted(signal, 'generation');
      }
    } finally {
      // A token that nobody wants any more; what fails here fails the next call as well.
      await coming?.catch(() => undefined);
      this.#length = this.#cached.length;
    }
    const seconds = (performance.now() - begin) / 1000;
    promptSeconds ||= seconds;
    const generateSeconds = seconds - promptSeconds;
    this.#log.debug('generated', { tokens: generatedTokens, seconds: generateSeconds, reason });
    return {
      reason,
      promptTokens: prompt.length,
      cachedTokens,
      generatedTokens,
      promptSeconds,
      generateSeconds,
      submitSeconds: this.#submitSeconds,
    };
  }

  async *#evaluate(
    ids: readonly number[],
    from: number,
    signal?: AbortSignal,
  ): AsyncGenerator<PositionLogits> {
    this.reset();
    const { rows, outputs } = this.#plan.shape;
    const logits = new Float32Array(outputs * this.#vocabulary);
    for (let at = 0; at < ids.length;) {
      throwIfAborted(signal, 'evaluation');
      const wanted = at >= from;
      const end = wanted ? at + Math.min(rows, outputs) : Math.min(at + rows, from);
      const chunk = ids.slice(at, end);
      const batch = this.#write(chunk, wanted ? chunk.length : 0);
      this.#plan.run(this.#stream, batch, { step: 'forward' });
      if (wanted) await this.#download(logits, chunk.length);
      else await this.#stream.synchronize();
      this.#cached.push(...chunk);
      for (let i = 0; wanted && i < chunk.length; i++) {
        yield { position: at + i, logits: logits.subarray(i * this.#vocabulary, (i + 1) * this.#vocabulary) };
      }
      at += chunk.length;
    }
  }

  /** Runs the prompt's rows that are not cached in slices of the largest batch, as long as one more slice is left. */
  async #readAllButLast(prompt: readonly number[], signal: AbortSignal | undefined): Promise<void> {
    const { rows } = this.#plan.shape;
    while (this.#length + rows < prompt.length) {
      throwIfAborted(signal, 'reading the prompt');
      const slice = prompt.slice(this.#length, this.#length + rows);
      await this.#submit(slice, { wanted: false, continued: false });
      this.#cached.push(...slice);
    }
    throwIfAborted(signal, 'reading the prompt');
  }

  /** Queues the step after the one queued last, on the token that it samples. */
  #continue(): Promise<SampledToken> {
    return this.#submit([0], { wanted: true, continued: true });
  }

  /** Queues a step, and promises the token sampled after its last row where one is wanted. */
  async #submit(
    ids: readonly number[],
    { wanted, continued }: { wanted: boolean; continued: boolean },
  ): Promise<SampledToken> {
    const begin = performance.now();
    const batch = this.#write(ids, wanted ? 1 : 0);
    this.#plan.run(this.#stream, batch, { step: wanted ? 'generate' : 'forward', continued });
    const end = wanted ? this.#sampled() : this.#stream.synchronize();
    const submitMs = performance.now() - begin;
    this.#submitSeconds += submitMs / 1000;
    const token = (await end) ?? { id: -1, logProbability: undefined, alternatives: [] };
    if (this.#log.enabled('trace')) {
      this.#log.trace('step', { rows: ids.length, submitMs, ms: performance.now() - begin });
    }
    return token;
  }

  async #sampled(): Promise<SampledToken> {
    const { logProbabilities } = this.#sampling;
    const arrival = this.#arrivals.reverse()[0] as Float32Array;
    if (logProbabilities >= 0) {
      await this.#stream.download(this.#plan.result('report'), new Uint8Array(arrival.buffer));
      return readReport(arrival, logProbabilities);
    }
    const token = new Int32Array(arrival.buffer, 0, 1);
    await this.#stream.download(this.#plan.result('tokens'), new Uint8Array(arrival.buffer, 0, 4));
    return { id: token[0] as number, logProbability: undefined, alternatives: [] };
  }

  async #download(logits: Float32Array, rows: number): Promise<void> {
    await this.#stream.download(
      this.#plan.result('logits'),
      new Uint8Array(logits.buffer, 0, rows * this.#vocabulary * 4),
    );
  }

  /** Writes the rows that follow all queued ones, the last `outputs` of them with logits, for the batch that takes them. */
  #write(ids: readonly number[], outputs: number): BatchPlan {
    const batch = this.#plan.batchFor(ids.length, outputs);
    const { inputs } = batch;
    const first = this.#length;
    this.#length += ids.length;
    const fits = this.#state.reserve(SLOT, this.#length);
    invariant(fits, 'a prompt within the context fits into the cache');
    inputs.view('counts').set([ids.length, outputs]);
    inputs.view('ids').set(ids);
    const positions = inputs.view('positions');
    for (let row = 0; row < ids.length; row++) positions[row] = first + row;
    const outputRows = inputs.view('output_rows');
    for (let i = 0; i < outputs; i++) outputRows[i] = ids.length - outputs + i;
    this.#state.writeBlocks(SLOT, inputs.view('blocks'));
    writeSamplingRow(this.#sampling, inputs.view('parameters').subarray(0, SAMPLING_ROW_WORDS));
    return batch;
  }

  /** Keeps the cache as far as the prompt begins with it; the prompt's last token always runs again. */
  #keepPrefix(prompt: readonly number[]): number {
    let same = 0;
    while (same < prompt.length - 1 && same < this.#cached.length && this.#cached[same] === prompt[same])
      same++;
    this.#cached.length = same;
    this.#length = same;
    this.#state.truncate(SLOT, same);
    return same;
  }
}

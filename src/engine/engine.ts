import { Lifetime } from '../base/disposal.ts';
import { fail, invariant, throwIfAborted } from '../base/errors.ts';
import { type Logger, silentLogger } from '../base/log.ts';
import type { Device, Stream } from '../device/index.ts';
import type { ExecutionPlan } from '../model/execution-plan.ts';
import type { SequenceState } from '../model/sequence-state.ts';
import {
  MAX_LOG_PROBABILITIES,
  SAMPLING_ROW_WORDS,
  type SamplingParameters,
  writeSamplingRow,
} from '../ops/sampling/sampling-row.ts';
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
  readonly #token = new Int32Array(1);
  readonly #report = new Float32Array(2 * (1 + MAX_LOG_PROBABILITIES));
  #alternatives = -1;
  #cached: number[] = [];

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
    this.#writeSampling(request.sampling);
    const begin = performance.now();
    const cachedTokens = this.#keepPrefix(prompt);
    let token = await this.#read(prompt, signal);
    const promptSeconds = (performance.now() - begin) / 1000;
    this.#log.debug('prompt read', { tokens: prompt.length, cached: cachedTokens, seconds: promptSeconds });
    let generatedTokens = 0;
    let reason: GenerationEnd['reason'] = 'length';
    while (generatedTokens < maxTokens) {
      if (stopTokens.has(token.id)) {
        reason = 'stop';
        break;
      }
      generatedTokens++;
      if (yield token) {
        reason = 'stop';
        break;
      }
      if (generatedTokens === maxTokens || this.#cached.length >= this.context) break;
      throwIfAborted(signal, 'generation');
      token = await this.#step([token.id], true);
    }
    const generateSeconds = (performance.now() - begin) / 1000 - promptSeconds;
    this.#log.debug('generated', { tokens: generatedTokens, seconds: generateSeconds, reason });
    return {
      reason,
      promptTokens: prompt.length,
      cachedTokens,
      generatedTokens,
      promptSeconds,
      generateSeconds,
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
      this.#write(chunk, wanted ? chunk.length : 0);
      this.#plan.run(this.#stream, 'forward');
      if (wanted) await this.#download(logits, chunk.length);
      else await this.#stream.synchronize();
      this.#cached.push(...chunk);
      for (let i = 0; wanted && i < chunk.length; i++) {
        yield { position: at + i, logits: logits.subarray(i * this.#vocabulary, (i + 1) * this.#vocabulary) };
      }
      at += chunk.length;
    }
  }

  /** Runs the prompt's rows that are not cached, in slices, and samples after the last. */
  async #read(prompt: readonly number[], signal: AbortSignal | undefined): Promise<SampledToken> {
    const { rows } = this.#plan.shape;
    while (this.#cached.length + rows < prompt.length) {
      throwIfAborted(signal, 'reading the prompt');
      await this.#step(prompt.slice(this.#cached.length, this.#cached.length + rows), false);
    }
    throwIfAborted(signal, 'reading the prompt');
    return this.#step(prompt.slice(this.#cached.length), true);
  }

  async #step(ids: readonly number[], wanted: boolean): Promise<SampledToken> {
    const begin = this.#log.enabled('trace') ? performance.now() : 0;
    this.#write(ids, wanted ? 1 : 0);
    this.#plan.run(this.#stream, wanted ? 'generate' : 'forward');
    let token: SampledToken = { id: -1, logProbability: undefined, alternatives: [] };
    if (wanted) token = await this.#sampled();
    else await this.#stream.synchronize();
    this.#cached.push(...ids);
    if (this.#log.enabled('trace')) {
      this.#log.trace('step', {
        rows: ids.length,
        ms: performance.now() - begin,
        position: this.#cached.length,
      });
    }
    return token;
  }

  async #sampled(): Promise<SampledToken> {
    if (this.#alternatives >= 0) {
      await this.#stream.download(this.#plan.result('report'), new Uint8Array(this.#report.buffer));
      return readReport(this.#report, this.#alternatives);
    }
    await this.#stream.download(this.#plan.result('tokens'), new Uint8Array(this.#token.buffer));
    return { id: this.#token[0] as number, logProbability: undefined, alternatives: [] };
  }

  async #download(logits: Float32Array, rows: number): Promise<void> {
    await this.#stream.download(
      this.#plan.result('logits'),
      new Uint8Array(logits.buffer, 0, rows * this.#vocabulary * 4),
    );
  }

  /** Writes the rows that follow the cached ones, the last `outputs` of them with logits. */
  #write(ids: readonly number[], outputs: number): void {
    const { inputs } = this.#plan;
    const first = this.#cached.length;
    const fits = this.#state.reserve(SLOT, first + ids.length);
    invariant(fits, 'a prompt within the context fits into the cache');
    inputs.view('counts').set([ids.length, outputs]);
    inputs.view('ids').set(ids);
    const positions = inputs.view('positions');
    for (let row = 0; row < ids.length; row++) positions[row] = first + row;
    inputs.view('slots').fill(SLOT, 0, ids.length);
    const outputRows = inputs.view('output_rows');
    for (let i = 0; i < outputs; i++) outputRows[i] = ids.length - outputs + i;
    this.#state.writeBlocks(SLOT, inputs.view('blocks'));
  }

  #writeSampling(sampling: SamplingParameters): void {
    this.#alternatives = sampling.logProbabilities;
    writeSamplingRow(sampling, this.#plan.inputs.view('parameters').subarray(0, SAMPLING_ROW_WORDS));
  }

  /** Keeps the cache as far as the prompt begins with it; the prompt's last token always runs again. */
  #keepPrefix(prompt: readonly number[]): number {
    let same = 0;
    while (same < prompt.length - 1 && same < this.#cached.length && this.#cached[same] === prompt[same])
      same++;
    this.#cached.length = same;
    this.#state.truncate(SLOT, same);
    return same;
  }
}

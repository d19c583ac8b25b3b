import type { Logger } from '../base/log.ts';
import {
  SAMPLING_ROW_WORDS,
  type SamplingParameters,
  writeSamplingRow,
} from '../ops/sampling/sampling-row.ts';
import { type Batchable, SequencePlace } from './continuous-batcher.ts';
import type { JobSequence } from './job-pipeline.ts';
import type { SampledToken } from './sampled-token.ts';
import { TokenQueue } from './token-queue.ts';

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
  /** Prompt tokens that were still in the cache from an earlier call. */
  readonly cachedTokens: number;
  readonly generatedTokens: number;
  /** From the first step with a row of the prompt to the first token. */
  readonly promptSeconds: number;
  readonly generateSeconds: number;
}

/** Tokens that may wait for their reader before the sequence pauses. */
const QUEUED_TOKENS = 32;

/** One generation on its way through the engine. */
export class Sequence implements Batchable, JobSequence {
  readonly ids: number[];
  readonly limit: number;
  readonly place = new SequencePlace();
  readonly sampling: Int32Array;
  readonly alternatives: number;
  /** How often the device was lost under its steps since its last token. */
  losses = 0;
  readonly queue = new TokenQueue<SampledToken, GenerationEnd>(QUEUED_TOKENS);
  readonly #request: GenerateRequest;
  readonly #log: Logger;
  #ended = false;
  #cached = 0;
  #begun: number | undefined;
  #firstToken: number | undefined;

  constructor(request: GenerateRequest, context: number, log: Logger) {
    const { prompt, sampling, maxTokens } = request;
    this.#request = request;
    this.#log = log;
    this.ids = [...prompt];
    // The last id is sampled from the last position and takes none itself.
    this.limit = Math.min(prompt.length + maxTokens, context + 1);
    this.alternatives = sampling.logProbabilities;
    const row = new Int32Array(SAMPLING_ROW_WORDS);
    this.sampling = row.subarray(0, writeSamplingRow(sampling, row));
  }

  get paused(): boolean {
    return this.queue.isBehind;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Notes that a step with its first rows is submitted. */
  begin(cached: number): void {
    if (this.#begun !== undefined) return;
    this.#begun = performance.now();
    this.#cached = cached;
  }

  /** Takes a sampled token; true when it was the last. */
  accept(token: SampledToken): boolean {
    this.losses = 0;
    if (this.#firstToken === undefined) this.#noteFirstToken();
    if (this.#request.stopTokens.has(token.id)) return this.end('stop');
    this.ids.push(token.id);
    this.queue.push(token);
    return this.ids.length >= this.limit && this.end('length');
  }

  /** Ends it because its reader has read enough; tokens that it has not read are not counted. */
  stop(): void {
    this.ids.length -= this.queue.clear();
    this.end('stop');
  }

  /** Ends it; tokens that steps under way still sample are nobody's. */
  end(reason: GenerationEnd['reason']): true {
    this.#ended = true;
    const now = performance.now();
    const begun = this.#begun ?? now;
    const first = this.#firstToken ?? now;
    const end: GenerationEnd = {
      reason,
      promptTokens: this.#request.prompt.length,
      cachedTokens: this.#cached,
      generatedTokens: this.ids.length - this.#request.prompt.length,
      promptSeconds: (first - begun) / 1000,
      generateSeconds: (now - first) / 1000,
    };
    this.queue.end(end);
    this.#log.debug('generated', { ...end });
    return true;
  }

  fail(error: unknown): void {
    this.#ended = true;
    this.queue.fail(error);
  }

  #noteFirstToken(): void {
    this.#firstToken = performance.now();
    const seconds = (this.#firstToken - (this.#begun ?? this.#firstToken)) / 1000;
    this.#log.debug('prompt read', { tokens: this.#request.prompt.length, cached: this.#cached, seconds });
  }
}

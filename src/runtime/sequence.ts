import { RocmforgeError } from '../base/errors.ts';
import type { LogFields, Logger } from '../base/log.ts';
import {
  DEFAULT_SAMPLING,
  maskWords,
  SAMPLING_ROW_WORDS,
  SAMPLING_WORD,
  type SamplingParameters,
  writeDryPenalties,
  writeSamplingRow,
} from '../ops/sampling/sampling-row.ts';
import { dryPenalties, type DryParameters } from '../ops/sampling/dry.ts';
import type { ChainParameters } from '../ops/sampling/host-sampling.ts';
import { SamplerChain } from '../ops/sampling/sampler-chain.ts';
import { NO_TOKEN } from '../ops/sampling/no-token.ts';
import type { AdapterChoice } from '../model/lora/adapter-set.ts';
import { lineageOf } from './lineage.ts';
import type { TokenConstraint } from '../text/index.ts';
import { type Batchable, SequencePlace, type Slice } from '../scheduler/continuous-batcher.ts';
import type { Sampled } from './jobs/job-pipeline.ts';
import type { JobSequence } from './jobs/job-sequence.ts';
import type { SchedulingClass } from '../scheduler/fair-shares.ts';
import type { DraftPace } from '../scheduler/draft-pace.ts';
import type { Prediction, ProposedSequence, Proposer } from '../scheduler/proposer.ts';
import { SequenceDrafts } from './sequence-drafts.ts';
import type { SampledToken } from './jobs/sampled-token.ts';
import type { NonFiniteRows } from './first-fault.ts';
import type { TokenSink } from './token-queue.ts';

/** A request to generate. */
export interface GenerateRequest {
  readonly prompt: readonly number[];
  /** Embedding vectors by the negative ids that stand for them in the prompt (`promptIds`). */
  readonly vectors?: ReadonlyMap<number, Float32Array> | undefined;
  readonly sampling: SamplingParameters;
  /** Penalties of repetitions, which the host computes before each step. */
  readonly dry?: DryParameters | undefined;
  /** How the host samples its tokens. Default: the device does, by `sampling`. */
  readonly chain?: ChainParameters | undefined;
  /** Maximum tokens to generate; the end of the context may come earlier. */
  readonly maxTokens: number;
  /** Ids that end the generation; they are not emitted. */
  readonly stopTokens: ReadonlySet<number>;
  /** Restricts the tokens; the sampling is then `masked`. The caller owns it. */
  readonly constraint?: TokenConstraint | undefined;
  /** What to do when the context is full. Default: the generation ends. */
  readonly shift?: ContextShift | undefined;
  /** A function is asked once no adapters can come or go until the sequence ends. */
  readonly adapters?: readonly AdapterChoice[] | (() => readonly AdapterChoice[]) | undefined;
  /** Maximum draft tokens per step; limited by the engine's maximum, which is the default. */
  readonly speculation?: number | undefined;
  /** Its tenant, request and priority. */
  readonly scheduling?: SchedulingClass | undefined;
  /** Whether the sink is told how much of the prompt has been computed. */
  readonly reportsPrompt?: boolean | undefined;
  /** Only sequences with the same salt share prefixes. Default: none. */
  readonly cacheSalt?: string | undefined;
  /** The log level of its phases: `trace` for a step of something larger. Default `debug`. */
  readonly logged?: 'debug' | 'trace' | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * How a full context is shifted: the older half of what follows the first `keep` positions is dropped, and the rest is
 * recomputed at its new positions. Works with every kind of state and costs about one extra row per token.
 */
export interface ContextShift {
  /** Positions to keep, for example a system message; at most half of the context. */
  readonly keep: number;
}

/** Why a generation ended, with its token counts and times. */
export interface GenerationEnd {
  readonly reason: 'stop' | 'length';
  /** The slot that computed its latest token, or -1 if none did. */
  readonly slot: number;
  readonly promptTokens: number;
  /** Prompt tokens that were reused from the cache. */
  readonly cachedTokens: number;
  readonly generatedTokens: number;
  /** Draft tokens that were computed, and those that were accepted: each of these saved a step. */
  readonly proposedTokens: number;
  readonly acceptedTokens: number;
  /** Steps with draft tokens, and how many of them accepted the first, the second and so on. */
  readonly draftedSteps: number;
  readonly acceptedByPosition: readonly number[];
  /** From the request to the first step with a row of the prompt. */
  readonly queueSeconds: number;
  /** From the first step with a row of the prompt to the first token. */
  readonly promptSeconds: number;
  readonly generateSeconds: number;
}

/** How much of a prompt has been computed. */
export interface PromptProgress {
  readonly promptTokens: number;
  /** Prompt tokens that were reused from the cache. */
  readonly cachedTokens: number;
  /** Prompt tokens whose states are there, the cached ones included; all of them just before the first token. */
  readonly processedTokens: number;
  /** Since the first step with a row of the prompt was submitted; 0 while only cached tokens are there. */
  readonly seconds: number;
}

/** Tokens as they are sampled. `next(true)` ends the generation after the latest token. */
export type TokenStream = AsyncGenerator<SampledToken, GenerationEnd, boolean | undefined>;

/** The public state of a generation. */
export interface SequenceActivity {
  /** Its slot, or -1 while it waits for one. */
  readonly slot: number;
  readonly state: 'waiting' | 'prompt' | 'generating' | 'paused';
  readonly promptTokens: number;
  readonly generatedTokens: number;
  /** Draft tokens that it may have in its next step, and those so far that were computed and accepted. */
  readonly draftTokens: number;
  readonly proposedTokens: number;
  readonly acceptedTokens: number;
  /** Positions whose rows were planned. */
  readonly computedTokens: number;
  /** Its adapters, by their index in the model. */
  readonly adapters: readonly number[];
}

/** Receives a sequence's output as it comes. */
export interface SequenceSink extends TokenSink<SampledToken, GenerationEnd> {
  /** Receives the progress of its prompt before the first token, in growing order, if the request wants it. */
  progress?: ((of: PromptProgress) => void) | undefined;
}

/** What a sequence needs to know of its engine. */
export interface SequenceContext {
  /** Where its tokens go. */
  readonly sink: SequenceSink;
  readonly context: number;
  readonly vocabulary: number;
  /** Decides the number of draft tokens. */
  readonly pace: DraftPace;
  /** Proposes them. */
  readonly proposer: Proposer;
  readonly log: Logger;
}

/** A generation in the engine. */
export class Sequence implements Batchable, JobSequence, ProposedSequence {
  readonly ids: number[];
  readonly vectors: ReadonlyMap<number, Float32Array> | undefined;
  limit: number;
  readonly place = new SequencePlace();
  readonly chain: SamplerChain | undefined;
  readonly alternatives: number;
  readonly adapters: readonly AdapterChoice[];
  readonly lineage: string | undefined;
  readonly scheduling: SchedulingClass | undefined;
  /** How often the device was lost during its steps since its last token. */
  losses = 0;
  prediction: Prediction | undefined;
  readonly #sink: SequenceSink;
  readonly #request: GenerateRequest;
  readonly #context: number;
  readonly #drafts: SequenceDrafts | undefined;
  readonly #log: Logger;
  readonly mask: Int32Array | undefined;
  /** A row of sampling parameters, and the number of its words in use. */
  readonly #row = new Int32Array(SAMPLING_ROW_WORDS);
  #rowWords: number;
  /** The number of ids for which the row has DRY's penalties. */
  #penalizedIds = 0;
  #fault: NonFiniteRows | undefined;
  #isMaskFilled = false;
  #ended = false;
  /** The slot that computed its latest rows. */
  #slot = -1;
  #generated = 0;
  #proposed = 0;
  #accepted = 0;
  #draftedSteps = 0;
  readonly #acceptedAt: number[] = [];
  #cached = 0;
  readonly #created = performance.now();
  #begun: number | undefined;
  #firstToken: number | undefined;
  /** The positions of the prompt that were reported last. */
  #reported = -1;

  constructor(request: GenerateRequest, of: SequenceContext) {
    const { prompt, vectors, sampling, constraint, dry, chain } = request;
    this.#request = request;
    this.#sink = of.sink;
    this.#context = of.context;
    this.vectors = vectors;
    // A slot has one mask for all rows, what the host computes is for one row, and vectors cannot be used for speculation.
    const isPlain = (!constraint || constraint.isFixed) && !dry && !chain && !vectors?.size;
    this.#log = of.log;
    this.mask = constraint && new Int32Array(maskWords(of.vocabulary));
    this.ids = [...prompt];
    this.limit = this.#maxIds();
    this.alternatives = sampling.logProbabilities;
    const { adapters = [] } = request;
    this.adapters = typeof adapters === 'function' ? adapters() : adapters;
    this.lineage = lineageOf(this.adapters, request.cacheSalt);
    this.scheduling = request.scheduling;
    this.chain = chain && new SamplerChain(sampling, chain);
    // The device's token of a sequence that is sampled on the host is not used.
    const row = chain ? { ...DEFAULT_SAMPLING, temperature: 0 } : sampling;
    this.#rowWords = writeSamplingRow(row, this.#row);
    const { max, min } = of.pace.limits;
    const most = isPlain ? Math.min(max, request.speculation ?? max) : 0;
    if (most > 0) {
      const drafts = { follower: of.proposer.follow(this), count: of.pace.follow(most), min };
      this.#drafts = new SequenceDrafts(drafts);
    }
  }

  get draftIds(): readonly number[] {
    return this.#drafts?.ids ?? [];
  }

  get cacheSalt(): string | undefined {
    return this.#request.cacheSalt;
  }

  get stopTokens(): ReadonlySet<number> {
    return this.#request.stopTokens;
  }

  /** The rows whose logits were invalid: the sequence cannot continue. */
  get fault(): NonFiniteRows | undefined {
    return this.#fault;
  }

  get awaitsHost(): boolean {
    if (this.#fault) return true;
    const isPending = this.place.pending > 0;
    if (this.#drafts) return this.#drafts.holds(isPending);
    if (this.mask && !this.#isMaskFilled) return true;
    const { constraint, dry } = this.#request;
    const isMasked = constraint !== undefined && !constraint.isFixed;
    return isPending && (isMasked || (this.chain ?? dry) !== undefined);
  }

  /** Its row of sampling parameters for the token after its last id. */
  get sampling(): Int32Array {
    const { dry } = this.#request;
    if (dry && this.#penalizedIds !== this.ids.length) {
      this.#rowWords = writeDryPenalties(this.#row, dryPenalties(this.ids, dry));
      this.#penalizedIds = this.ids.length;
    }
    return this.#row.subarray(0, this.#rowWords);
  }

  get wantsPrediction(): boolean {
    return this.draftTokens > 0;
  }

  /** Whether it may have draft tokens in some step. */
  get mayHaveDrafts(): boolean {
    return this.#drafts !== undefined;
  }

  /** Draft tokens that it may have in its next step. */
  get draftTokens(): number {
    return this.#drafts?.next ?? 0;
  }

  get paused(): boolean {
    return this.#sink.isBehind;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Its current state. */
  activity(): SequenceActivity {
    const { slot, computed } = this.place;
    const promptTokens = this.#request.prompt.length;
    const generatedTokens = this.#generated;
    const adapters = this.adapters.filter(({ scale }) => scale !== 0).map(({ index }) => index);
    const isGenerating = this.#firstToken !== undefined;
    const going = this.paused ? 'paused' : isGenerating ? 'generating' : 'prompt';
    const state = slot < 0 ? 'waiting' : going;
    const drafts = {
      draftTokens: this.draftTokens,
      proposedTokens: this.#proposed,
      acceptedTokens: this.#accepted,
    };
    return { slot, state, promptTokens, generatedTokens, ...drafts, computedTokens: computed, adapters };
  }

  /** Records that a step with its first rows was submitted. */
  begin(cached: number): void {
    if (this.#begun !== undefined) return;
    this.#begun = performance.now();
    this.#cached = cached;
    this.computed(cached);
  }

  /** Records that so many of its first positions have been computed. */
  computed(positions: number): void {
    const isNews = this.#firstToken === undefined && positions > this.#reported;
    if (!this.#request.reportsPrompt || !isNews || this.#begun === undefined) return;
    this.#reported = positions;
    this.#sink.progress?.({
      promptTokens: this.#request.prompt.length,
      cachedTokens: this.#cached,
      processedTokens: positions,
      seconds: positions === this.#cached ? 0 : (performance.now() - this.#begun) / 1000,
    });
  }

  /**
   * Computes the mask for the next token, and ends the text if nothing may follow; does nothing without a constraint.
   */
  async fillMask(): Promise<void> {
    const { constraint } = this.#request;
    if (!this.mask || !constraint) return;
    await constraint.fill(this.mask);
    this.#isMaskFilled = true;
    if (constraint.isComplete && !this.#ended) this.end('stop');
  }

  /**
   * Starts computing what the host must provide before its next step: draft ids or a mask; undefined if there is
   * nothing, or it is not needed yet. Rejects as the constraint.
   */
  lookAhead(): Promise<void> | undefined {
    if (this.#fault) return undefined;
    if (this.#drafts) return this.#drafts.ask(this.limit - this.ids.length - 1, this.place.pending > 0);
    return this.mask && this.awaitsHost ? this.fillMask() : undefined;
  }

  /**
   * True while it waits for draft ids that arrive at about the same time as others': such sequences should continue
   * together.
   */
  get draftsSoon(): boolean {
    return this.#drafts?.comesSoon === true;
  }

  /** Takes what its rows of a step sampled, the first after the known ids, as far as the draft ids were right. */
  acceptRows(slice: Slice<this>, from: Sampled<this>): void {
    const count = slice.outputs;
    this.#slot = slice.slot;
    const [before, first] = [this.#accepted, this.ids.length];
    this.#proposed += count - 1;
    if (count > 1) this.#draftedSteps++;
    for (let row = 0; row < count && !this.#ended; row++) {
      const token = from.sampled(slice, row);
      if (token.id < 0) return this.#acceptNothing(token.id, slice);
      this.accept(token);
      this.prediction = from.prediction(slice, row);
      // Rows after a rejected draft id are meaningless.
      if (this.draftIds[row] !== token.id) break;
      if (row < count - 1) {
        this.#accepted++;
        this.#acceptedAt[row] = (this.#acceptedAt[row] ?? 0) + 1;
      }
    }
    this.#drafts?.verified(count - 1, this.#accepted - before, this.ids[first] as number);
  }

  /** Handles the value that was written instead of a token. */
  #acceptNothing(reason: number, { first, count, slot }: Slice<this>): void {
    const { ids, adapters } = this;
    if (reason === NO_TOKEN.forbidden) {
      this.fail(new RocmforgeError('TOKENS_FORBIDDEN', { position: ids.length - 1 }));
    } else {
      this.#fault = { ids: ids.slice(0, first + count), first, slot, adapters, vectors: this.vectors };
    }
  }

  /** Takes a sampled token; true if it was the last. */
  accept(token: SampledToken): boolean {
    this.losses = 0;
    this.computed(this.#request.prompt.length);
    if (this.#firstToken === undefined) this.#noteFirstToken();
    if (this.#request.stopTokens.has(token.id)) return this.end('stop');
    this.ids.push(token.id);
    this.#generated++;
    this.#sink.push(token);
    const { constraint } = this.#request;
    if (!constraint?.isFixed) this.#isMaskFilled = false;
    try {
      constraint?.accept(token.id);
      if (constraint?.isComplete) return this.end('stop');
    } catch (error) {
      // A grammar's failure affects only this sequence.
      this.fail(error);
      return true;
    }
    if (this.ids.length < this.limit || this.isFull) return false;
    return this.end('length');
  }

  /** True if the context has to be shifted before it can continue. */
  get isFull(): boolean {
    const { shift, maxTokens } = this.#request;
    return shift !== undefined && this.ids.length >= this.limit && this.#generated < maxTokens;
  }

  /** Shifts a full context. The sequence must have no slot, because its computed positions have moved. */
  shift(): void {
    const { keep = 0 } = this.#request.shift ?? {};
    this.ids.splice(keep, (this.ids.length - keep) >> 1);
    this.limit = this.#maxIds();
    // Positions repeat after a shift; random numbers must not.
    const seed = this.#row[SAMPLING_WORD.seedHigh] as number;
    this.#row[SAMPLING_WORD.seedHigh] = (seed + 1) | 0;
    this.chain?.shift();
    this.#penalizedIds = 0;
  }

  /**
   * Ends it because its reader wants no more; unread tokens are not counted, even if the sequence had already reached
   * its own end.
   */
  stop(): void {
    const unread = this.#sink.clear();
    this.ids.length -= Math.min(unread, this.ids.length);
    this.#generated -= unread;
    this.end('stop');
  }

  /** Ends it; tokens that steps in flight still sample are discarded. */
  end(reason: GenerationEnd['reason']): true {
    this.#ended = true;
    const now = performance.now();
    const begun = this.#begun ?? now;
    const first = this.#firstToken ?? now;
    const end: GenerationEnd = {
      reason,
      slot: this.#slot,
      promptTokens: this.#request.prompt.length,
      cachedTokens: this.#cached,
      generatedTokens: this.#generated,
      proposedTokens: this.#proposed,
      acceptedTokens: this.#accepted,
      draftedSteps: this.#draftedSteps,
      acceptedByPosition: this.#acceptedAt,
      queueSeconds: (begun - this.#created) / 1000,
      promptSeconds: (first - begun) / 1000,
      generateSeconds: (now - first) / 1000,
    };
    this.#sink.end(end);
    this.#note('generated', { ...end });
    return true;
  }

  fail(error: unknown): void {
    this.#ended = true;
    this.#sink.fail(error);
  }

  /** It will not continue. */
  leave(): void {
    this.#drafts?.leave();
  }

  /**
   * Number of ids at which it ends or the context is full. The last id is sampled from the last position and occupies
   * none itself.
   */
  #maxIds(): number {
    return Math.min(this.ids.length + this.#request.maxTokens - this.#generated, this.#context + 1);
  }

  #noteFirstToken(): void {
    this.#firstToken = performance.now();
    const seconds = (this.#firstToken - (this.#begun ?? this.#firstToken)) / 1000;
    this.#note('prompt read', { tokens: this.#request.prompt.length, cached: this.#cached, seconds });
  }

  #note(phase: string, fields: LogFields): void {
    this.#log[this.#request.logged ?? 'debug'](phase, fields);
  }
}

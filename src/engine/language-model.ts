import { Lifetime } from '../base/disposal.ts';
import { fail } from '../base/errors.ts';
import { type Logger, silentLogger } from '../base/log.ts';
import type { Device } from '../device/index.ts';
import type { GgufFile } from '../gguf/index.ts';
import { AsyncModelLoader } from '../load/async-model-loader.ts';
import type { LoadProgress } from '../load/load-progress.ts';
import { type Architecture, architectureOf } from '../model/architecture.ts';
import { ExecutionPlan, type PlanParts } from '../model/execution-plan.ts';
import { type FitPlan, requireFit } from '../model/fit-plan.ts';
import { blocksFor, KvCache } from '../model/kv-cache.ts';
import type { ModelConfig } from '../model/model-config.ts';
import { recordModel } from '../model/model-graphs.ts';
import {
  DEFAULT_SAMPLING,
  MAX_LOG_PROBABILITIES,
  type SamplingParameters,
  validateSampling,
} from '../ops/index.ts';
import {
  type ChatMessage,
  type ChatRenderOptions,
  ChatTemplate,
  createTokenizer,
  encodeChat,
  type Tokenizer,
} from '../text/index.ts';
import { Engine, type EngineActivity } from './engine.ts';
import type { PositionLogits } from './forced-logits.ts';
import type { GenerateOptions } from './generate-options.ts';
import { TextStream } from './text-stream.ts';

/** How a model is made ready. */
export interface ModelOptions {
  /** Positions that a sequence may have. Default: what the model was trained for, at most `DEFAULT_CONTEXT`. */
  readonly context?: number | undefined;
  /** Prompt tokens of one step. Default 512. */
  readonly batch?: number | undefined;
  /** Positions of a step whose logits `evaluate` gets at once. Default 1: enough to generate. */
  readonly logitRows?: number | undefined;
  /** Sequences that generate at once; more wait for their turn. Default 1. */
  readonly sequences?: number | undefined;
  /** Positions that the KV cache holds for all sequences together. Default: the context for each of them. */
  readonly cachePositions?: number | undefined;
  /** Steps under way at once: the next is queued before the tokens of the last are read. Default 2. */
  readonly inFlight?: number | undefined;
  /** How the KV cache is stored. Default f16. */
  readonly cacheType?: 'f16' | 'f32' | undefined;
  readonly onProgress?: ((progress: LoadProgress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly logger?: Logger | undefined;
}

/** What a model is opened from. */
export interface ModelParts {
  readonly gguf: GgufFile;
  readonly device: Device;
  readonly architectures: readonly Architecture[];
}

/** Positions that a sequence may have unless asked otherwise. */
export const DEFAULT_CONTEXT = 4096;
const DEFAULT_BATCH = 512;
const DEFAULT_IN_FLIGHT = 2;

/**
 * A model ready to continue texts and answer conversations, as many at once as its options say. It owns its file and its
 * device.
 */
export class LanguageModel implements AsyncDisposable {
  readonly #parts: ModelParts;
  readonly #plan: ExecutionPlan;
  readonly #engine: Engine;
  readonly #life = new Lifetime('the model');
  #tokenizer: Tokenizer | undefined;
  #template: ChatTemplate | undefined;

  private constructor(
    parts: ModelParts,
    readonly config: ModelConfig,
    /** Where the memory went, in bytes. */
    readonly fit: FitPlan,
    of: { plan: ExecutionPlan; engine: Engine },
  ) {
    this.#parts = parts;
    this.#plan = of.plan;
    this.#engine = of.engine;
  }

  /**
   * Plans, allocates and loads a model. Rejects with `ARCHITECTURE_UNKNOWN`, `MODEL_…`, `OUT_OF_MEMORY`, `ABORTED` or what
   * reading rejects with, everything released that it created; file and device stay the caller's then.
   */
  static async open(parts: ModelParts, options: ModelOptions = {}): Promise<LanguageModel> {
    const { device } = parts;
    const log = options.logger ?? silentLogger;
    const begin = performance.now();
    const { config, plan: described } = describe(parts, options);
    const plan = await ExecutionPlan.compile(described);
    const fit = plan.fit();
    log.debug('planned', { ...fit, ms: performance.now() - begin });
    requireFit(fit, (await device.memory()).free);
    await plan.allocate();
    try {
      const jobs = plan.weightJobs();
      const { onProgress, signal } = options;
      await new AsyncModelLoader(device, { onProgress, signal }).load(jobs);
      log.debug('loaded', { weights: jobs.length, ms: performance.now() - begin });
      const { slots } = plan.shape;
      const context = contextOf(config, options);
      const state = new KvCache({ blocks: blocksOf(context, options), slots, context });
      const engine = new Engine({ device, plan, state, logger: log });
      return new LanguageModel(parts, config, fit, { plan, engine });
    } catch (error) {
      await plan[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** The memory that `open` would take, from the file's header alone. */
  static async fit(parts: ModelParts, options: ModelOptions = {}): Promise<FitPlan> {
    await using plan = await ExecutionPlan.compile(describe(parts, options).plan);
    return plan.fit();
  }

  /** Positions that a sequence may have. */
  get context(): number {
    return this.#engine.context;
  }

  /** Logits of a position: ids below it can be sampled. */
  get vocabulary(): number {
    return this.#plan.vocabulary;
  }

  get gguf(): GgufFile {
    return this.#parts.gguf;
  }

  get device(): Device {
    return this.#parts.device;
  }

  /** Made at first use, so that a model without a usable tokenizer still runs on token ids. */
  get tokenizer(): Tokenizer {
    this.#tokenizer ??= createTokenizer(this.gguf.metadata);
    return this.#tokenizer;
  }

  /** The model's own chat template. Throws `CHAT_TEMPLATE_MISSING` where it has none. */
  get chatTemplate(): ChatTemplate {
    this.#template ??= ChatTemplate.read(this.gguf.metadata, this.tokenizer);
    return this.#template;
  }

  /** Continues a text or token ids. Throws `INVALID_ARGUMENT`; the stream rejects as `Engine.generate`. */
  generate(prompt: string | readonly number[], options: GenerateOptions = {}): TextStream {
    const ids = typeof prompt === 'string' ? this.tokenizer.encode(prompt) : prompt;
    return this.#stream(ids, { continues: true, ...options });
  }

  /** Answers a conversation, written down by the model's own template. Throws and rejects as `generate` and the template. */
  chat(messages: readonly ChatMessage[], options: GenerateOptions & ChatRenderOptions = {}): TextStream {
    return this.#stream(this.chatPrompt(messages, options), { continues: false, ...options });
  }

  /** The token ids of a conversation, as `chat` reads it. Throws as the template. */
  chatPrompt(messages: readonly ChatMessage[], options: ChatRenderOptions = {}): number[] {
    return encodeChat(this.tokenizer, this.chatTemplate.render(messages, options));
  }

  /** What the engine is busy with. */
  get activity(): EngineActivity {
    return this.#engine.activity;
  }

  /** The logits at every position of `ids` from `from` on. */
  evaluate(ids: readonly number[], from = 0, signal?: AbortSignal): AsyncGenerator<PositionLogits> {
    return this.#engine.evaluate(ids, from, signal);
  }

  /** Forgets what is cached of the last conversation. */
  reset(): void {
    this.#engine.reset();
  }

  /** Releases engine, plan, device and file. */
  async dispose(): Promise<void> {
    if (!this.#life.end()) return;
    await this.#engine[Symbol.asyncDispose]();
    await this.#plan[Symbol.asyncDispose]();
    await this.device[Symbol.asyncDispose]();
    await this.gguf.dispose();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  #stream(prompt: readonly number[], options: GenerateOptions): TextStream {
    this.#life.check();
    const {
      maxTokens = Number.POSITIVE_INFINITY,
      stop = [],
      ignoreEnd = false,
      special = false,
      continues = true,
      constraint,
      signal,
    } = options;
    const stopTokens = ignoreEnd ? new Set<number>() : this.tokenizer.special.endOfGeneration;
    const sampling = samplingOf(options);
    const tokens = this.#engine.generate({ prompt, sampling, maxTokens, stopTokens, constraint, signal });
    return new TextStream(tokens, { tokenizer: this.tokenizer, stop, special, continues });
  }
}

function contextOf(config: ModelConfig, options: ModelOptions): number {
  return options.context ?? Math.min(config.trainedContext, DEFAULT_CONTEXT);
}

const COUNTS = ['context', 'batch', 'logitRows', 'sequences', 'cachePositions', 'inFlight'] as const;

function checkCounts(options: ModelOptions): void {
  for (const name of COUNTS) {
    const count = options[name];
    if (count === undefined || (Number.isSafeInteger(count) && count > 0)) continue;
    fail('INVALID_ARGUMENT', { name, found: String(count), expected: 'a positive whole number' });
  }
}

function describe(parts: ModelParts, options: ModelOptions): { config: ModelConfig; plan: PlanParts } {
  checkCounts(options);
  const { metadata } = parts.gguf;
  const architecture = architectureOf(metadata, parts.architectures);
  const config = architecture.configure(metadata, metadata.string('general.architecture') ?? '');
  const context = contextOf(config, options);
  const slots = options.sequences ?? 1;
  const rows = Math.min(Math.max(options.batch ?? DEFAULT_BATCH, slots), context * slots);
  const outputs = Math.min(Math.max(slots, options.logitRows ?? 1), rows);
  const tensors = tensorIndex(parts.gguf);
  const graphOptions = {
    blocks: blocksOf(context, options),
    cacheType: options.cacheType ?? 'f16',
    tokens: outputs,
    context,
    alternatives: MAX_LOG_PROBABILITIES,
  } as const;
  const plan: PlanParts = {
    device: parts.device,
    tensors,
    record: (shape) => recordModel(architecture, config, tensors, { ...graphOptions, shape }),
    shape: { rows, outputs, slots, blocksPerSlot: blocksFor(context) },
    inFlight: options.inFlight ?? DEFAULT_IN_FLIGHT,
  };
  return { config, plan };
}

/** Blocks of the KV cache: at least what one sequence may take. */
function blocksOf(context: number, options: ModelOptions): number {
  const positions = options.cachePositions ?? context * (options.sequences ?? 1);
  return Math.max(blocksFor(context), blocksFor(positions));
}

function tensorIndex(gguf: GgufFile) {
  return new Map(gguf.tensors.map((tensor) => [tensor.name, tensor]));
}

function samplingOf(options: GenerateOptions): SamplingParameters {
  const sampling: Record<string, unknown> = {};
  for (const [name, standard] of Object.entries(DEFAULT_SAMPLING)) {
    sampling[name] = options[name as keyof GenerateOptions] ?? standard;
  }
  const seed = options.seed ?? Math.floor(Math.random() * 2 ** 32);
  const parameters = {
    ...sampling,
    seed,
    masked: options.constraint !== undefined,
  } as unknown as SamplingParameters;
  validateSampling(parameters);
  return parameters;
}

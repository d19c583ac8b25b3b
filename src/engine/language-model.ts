import { Lifetime } from '../base/disposal.ts';
import { fail } from '../base/errors.ts';
import { type Logger, silentLogger } from '../base/log.ts';
import type { Device } from '../device/index.ts';
import type { GgufFile } from '../gguf/index.ts';
import { AsyncModelLoader } from '../load/async-model-loader.ts';
import type { LoadProgress } from '../load/load-progress.ts';
import { type Architecture, architectureOf } from '../model/architecture.ts';
import { ExecutionPlan } from '../model/execution-plan.ts';
import { type FitPlan, requireFit } from '../model/fit-plan.ts';
import { blocksFor, KvCache } from '../model/kv-cache.ts';
import type { ModelConfig } from '../model/model-config.ts';
import { type ModelGraphs, recordModel } from '../model/model-graphs.ts';
import {
  type Cost,
  type CostContext,
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
import { Engine, type PositionLogits } from './engine.ts';
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

/**
 * A model ready to continue texts and answer conversations. Calls on one model wait for each other. It owns its file and
 * its device.
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
    const { gguf, device } = parts;
    const log = options.logger ?? silentLogger;
    const begin = performance.now();
    const { config, graphs } = describe(parts, options);
    const tensors = tensorIndex(gguf);
    const plan = await ExecutionPlan.compile(device, graphs, tensors);
    const fit = plan.fit();
    log.debug('planned', { ...fit, ms: performance.now() - begin });
    requireFit(fit, (await device.memory()).free);
    await plan.allocate();
    try {
      const jobs = plan.weightJobs();
      const { onProgress, signal } = options;
      await new AsyncModelLoader(device, { onProgress, signal }).load(jobs);
      log.debug('loaded', { weights: jobs.length, ms: performance.now() - begin });
      const { slots, blocksPerSlot } = plan.shape;
      const context = contextOf(config, options);
      const state = new KvCache({ blocks: slots * blocksPerSlot, slots, context });
      const vocabulary = graphs[0]?.boundaries.get('logits')?.width ?? 0;
      const engine = new Engine({ device, plan, state, vocabulary, logger: log });
      return new LanguageModel(parts, config, fit, { plan, engine });
    } catch (error) {
      await plan[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** The memory that `open` would take, from the file's header alone. */
  static async fit(parts: ModelParts, options: ModelOptions = {}): Promise<FitPlan> {
    const { graphs } = describe(parts, options);
    await using plan = await ExecutionPlan.compile(parts.device, graphs, tensorIndex(parts.gguf));
    return plan.fit();
  }

  /** Positions that a sequence may have. */
  get context(): number {
    return this.#engine.context;
  }

  /** Prompt tokens of one step. */
  get batch(): number {
    return this.#plan.shape.rows;
  }

  /** What it was opened from. */
  get parts(): ModelParts {
    return this.#parts;
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
    return this.#stream(ids, options, true);
  }

  /** Answers a conversation, written down by the model's own template. Throws and rejects as `generate` and the template. */
  chat(messages: readonly ChatMessage[], options: GenerateOptions & ChatRenderOptions = {}): TextStream {
    const rendered = this.chatTemplate.render(messages, options);
    return this.#stream(encodeChat(this.tokenizer, rendered), options, false);
  }

  /** The logits at every position of `ids` from `from` on. */
  evaluate(ids: readonly number[], from = 0, signal?: AbortSignal): AsyncGenerator<PositionLogits> {
    return this.#engine.evaluate(ids, from, signal);
  }

  /** What a step moves and computes at least. */
  cost(context: CostContext): Cost {
    return this.#plan.batchFor(context.rows, context.outputs).cost(context);
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

  #stream(prompt: readonly number[], options: GenerateOptions, continues: boolean): TextStream {
    this.#life.check();
    const {
      maxTokens = Number.POSITIVE_INFINITY,
      stop = [],
      ignoreEnd = false,
      special = false,
      signal,
    } = options;
    const stopTokens = ignoreEnd ? new Set<number>() : this.tokenizer.special.endOfGeneration;
    const sampling = samplingOf(options);
    const tokens = this.#engine.generate({ prompt, sampling, maxTokens, stopTokens, signal });
    return new TextStream(tokens, { tokenizer: this.tokenizer, stop, special, continues });
  }
}

function contextOf(config: ModelConfig, options: ModelOptions): number {
  const context = options.context ?? Math.min(config.trainedContext, DEFAULT_CONTEXT);
  if (Number.isSafeInteger(context) && context > 0) return context;
  fail('INVALID_ARGUMENT', { name: 'context', found: String(context), expected: 'a positive whole number' });
}

/** Rows of the batches that a step's rows are filled up to, beside the prompt's: a token, and a short text. */
const SMALL_BATCHES = [1, 64];

function describe(
  parts: ModelParts,
  options: ModelOptions,
): { config: ModelConfig; graphs: readonly ModelGraphs[] } {
  const { metadata } = parts.gguf;
  const architecture = architectureOf(metadata, parts.architectures);
  const config = architecture.configure(metadata, metadata.string('general.architecture') ?? '');
  const context = contextOf(config, options);
  const most = Math.min(options.batch ?? DEFAULT_BATCH, context);
  const blocks = blocksFor(context);
  const graphs = [...SMALL_BATCHES.filter((rows) => rows < most), most].map((rows) =>
    recordModel(architecture, config, tensorIndex(parts.gguf), {
      shape: { rows, outputs: Math.min(options.logitRows ?? 1, rows), slots: 1, blocksPerSlot: blocks },
      blocks,
      cacheType: options.cacheType ?? 'f16',
      context,
      alternatives: MAX_LOG_PROBABILITIES,
    }),
  );
  return { config, graphs };
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
  const parameters = { ...sampling, seed } as unknown as SamplingParameters;
  validateSampling(parameters);
  return parameters;
}

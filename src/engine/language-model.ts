import { Lifetime } from '../base/disposal.ts';
import { fail, throwIfAborted } from '../base/errors.ts';
import { type Logger, silentLogger } from '../base/log.ts';
import type { BlockDecoder, Device } from '../device/index.ts';
import type { GgufFile } from '../gguf/index.ts';
import { AsyncModelLoader, type LoadReport, SYNCHRONOUS } from '../load/async-model-loader.ts';
import type { LoadProgress } from '../load/load-progress.ts';
import type { LoadTrace } from '../load/load-trace.ts';
import { type Architecture, architectureOf } from '../model/architecture.ts';
import { ExecutionPlan, type PlanParts } from '../model/execution-plan.ts';
import { type FitPlan, type MemoryLimits, summaryOf } from '../model/fit-plan.ts';
import { blocksFor, KvCache } from '../model/kv-cache.ts';
import type { ModelConfig } from '../model/model-config.ts';
import { recordModel } from '../model/model-graphs.ts';
import type { WeightPolicy } from '../model/weight-policy.ts';
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
import { Engine } from './engine.ts';
import type { PositionLogits } from './forced-logits.ts';
import { type LoadMode, loadByMode } from './load-mode.ts';
import type { GenerateOptions } from './generate-options.ts';
import { TextStream } from './text-stream.ts';

/** How a model is made ready. */
export interface ModelOptions extends MemoryLimits {
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
  /** What matrices become on the device. Default `blocks`: they stay as in the file. */
  readonly weights?: WeightPolicy | undefined;
  /** When weights are loaded. Default `background`. */
  readonly load?: LoadMode | undefined;
  /** Layers that `hybrid` loads before the model is given out. Default: a quarter of them. */
  readonly layers?: number | undefined;
  readonly onProgress?: ((progress: LoadProgress) => void) | undefined;
  /** Is told of everything that takes time while loading. */
  readonly trace?: LoadTrace | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly logger?: Logger | undefined;
}

/** What a model is opened from. */
export interface ModelParts {
  readonly gguf: GgufFile;
  readonly device: Device;
  readonly architectures: readonly Architecture[];
  /** Decodes weights that do not stay as in the file. Default: the formats' own decoders, on the calling thread. */
  readonly decoder?: BlockDecoder | undefined;
}

/** Positions that a sequence may have unless asked otherwise. */
export const DEFAULT_CONTEXT = 4096;
const DEFAULT_BATCH = 512;
const DEFAULT_IN_FLIGHT = 2;

/**
 * A model ready to continue texts and answer conversations, as many at once as its options say. It owns its file, its
 * device and its decoder.
 */
export class LanguageModel implements AsyncDisposable {
  readonly #parts: ModelParts;
  readonly #plan: ExecutionPlan;
  readonly #engine: Engine;
  readonly #loader: AsyncModelLoader;
  readonly #loading: Promise<LoadReport>;
  readonly #life = new Lifetime('the model');
  #tokenizer: Tokenizer | undefined;
  #template: ChatTemplate | undefined;

  private constructor(
    parts: ModelParts,
    readonly config: ModelConfig,
    /** Where the memory went, in bytes. */
    readonly fit: FitPlan,
    of: { plan: ExecutionPlan; engine: Engine; loader: AsyncModelLoader; loading: Promise<LoadReport> },
  ) {
    this.#parts = parts;
    this.#plan = of.plan;
    this.#engine = of.engine;
    this.#loader = of.loader;
    this.#loading = of.loading;
  }

  /**
   * Plans and allocates a model, and loads it as the mode says. Rejects with `ARCHITECTURE_UNKNOWN`, `MODEL_…`,
   * `OUT_OF_MEMORY`, `ABORTED` or what reading rejects with, everything released that it created; file, device and decoder
   * stay the caller's then.
   */
  static async open(parts: ModelParts, options: ModelOptions = {}): Promise<LanguageModel> {
    const { device, decoder } = parts;
    const log = options.logger ?? silentLogger;
    const begin = performance.now();
    const { config, plan: described } = describe(parts, options);
    const plan = await ExecutionPlan.compile(described);
    const fit = plan.fit(await limitsOf(device, options));
    log.debug('planned', { ...summaryOf(fit), ms: performance.now() - begin });
    const sizes = options.load === 'sync' ? SYNCHRONOUS : {};
    const loader = new AsyncModelLoader(device, { ...sizes, decoder, trace: options.trace });
    try {
      throwIfAborted(options.signal, 'loading');
      await plan.allocate(fit, loader);
      const mode = options.load ?? 'background';
      const loading = loadByMode(plan, loader, { ...options, mode, logger: log });
      // Whoever asks for weights learns of their failure; not everybody asks `loaded`.
      loading.catch(() => {});
      if (mode !== 'background') await loading;
      const { slots } = plan.shape;
      const context = contextOf(config, options);
      const state = new KvCache({ blocks: blocksOf(context, options), slots, context });
      const engine = new Engine({ device, plan, state, logger: log });
      return new LanguageModel(parts, config, fit, { plan, engine, loader, loading });
    } catch (error) {
      await loader[Symbol.asyncDispose]();
      await plan[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** The memory that `open` would take, from the file's header alone. Rejects with `MODEL_TOO_LARGE` as it does. */
  static async fit(parts: ModelParts, options: ModelOptions = {}): Promise<FitPlan> {
    await using plan = await ExecutionPlan.compile(describe(parts, options).plan);
    return plan.fit(await limitsOf(parts.device, options));
  }

  /**
   * Resolves with what was loaded before anything asked for it: all weights that stay in the modes `background`, `eager`
   * and `sync`. Rejects when that failed; what a step needs then is tried again.
   */
  get loaded(): Promise<LoadReport> {
    return this.#loading;
  }

  /** The weights, for those who load them themselves. */
  get plan(): ExecutionPlan {
    return this.#plan;
  }

  /** Positions that a sequence may have. */
  get context(): number {
    return this.#engine.context;
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

  /** Forgets what is cached of the last conversation. */
  reset(): void {
    this.#engine.reset();
  }

  /** Releases engine, plan, device, decoder and file. */
  async dispose(): Promise<void> {
    if (!this.#life.end()) return;
    await this.#engine[Symbol.asyncDispose]();
    await this.#loader[Symbol.asyncDispose]();
    await this.#plan[Symbol.asyncDispose]();
    await this.device[Symbol.asyncDispose]();
    await this.#parts.decoder?.[Symbol.asyncDispose]();
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

/** What the caller allows, within what the device has. */
async function limitsOf(device: Device, { memory, weightMemory }: ModelOptions): Promise<MemoryLimits> {
  const { free } = await device.memory();
  return { weightMemory, memory: Math.min(free, memory ?? free) };
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
    weights: options.weights ?? 'blocks',
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
  const parameters = { ...sampling, seed } as unknown as SamplingParameters;
  validateSampling(parameters);
  return parameters;
}

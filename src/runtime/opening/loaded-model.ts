import { throwIfAborted } from '../../base/errors.ts';
import { type Logger, silentLogger } from '../../base/log.ts';
import type { BlockDecoder, Device } from '../../device/index.ts';
import { AsyncModelLoader, type LoadReport, SYNCHRONOUS } from '../../load/async-model-loader.ts';
import type { LoadProgress } from '../../load/load-progress.ts';
import type { LoadTrace } from '../../load/load-trace.ts';
import type { SharedDeviceMemory } from '../../load/shared-device-memory.ts';
import type { ExecutionPlan } from '../../plan/execution-plan.ts';
import { type FitPlan, type MemoryLimits, summaryOf } from '../../plan/memory/fit-plan.ts';
import type { ModelDescription, ModelSource, PlanOptions } from '../../plan/parts/plan-options.ts';
import { type CompiledModel, type PlannedModel, planToFit } from '../../plan/plan-to-fit.ts';
import type { DraftModel, DraftSource } from './draft-model.ts';
import type { ConstraintMaker, Tokenizer } from '../../text/index.ts';
import { type LoadMode, loadByMode } from './load-mode.ts';
import type { RuntimeOptions } from '../jobs/runtime-options.ts';
import type { StepProfile } from '../jobs/step-profile.ts';

/** How a model is made ready. */
export interface ModelOptions extends PlanOptions, Omit<MemoryLimits, 'free'> {
  /** When weights are loaded. Default `background`. */
  readonly load?: LoadMode | undefined;
  /** Layers that `hybrid` loads before the model is given out. Default: a quarter of them. */
  readonly layers?: number | undefined;
  /** Is told how far loading has come. */
  readonly onProgress?: ((progress: LoadProgress) => void) | undefined;
  /** Is told of everything that takes time while loading. */
  readonly trace?: LoadTrace | undefined;
  /** Mechanisms of the engine that are to be off. Default: none. */
  readonly runtime?: Partial<RuntimeOptions> | undefined;
  /** Is told where the time of steps goes. */
  readonly profile?: StepProfile | undefined;
  /**
   * A chat template in place of the file's own: the text of a Jinja template, the name of a variant in the file, or
   * `rwkv-world`.
   */
  readonly chatTemplate?: string | undefined;
  /** Gives up loading with `ABORTED`. */
  readonly signal?: AbortSignal | undefined;
  /** Is told of phases and steps. Default: nobody. */
  readonly logger?: Logger | undefined;
}

/** What a model is opened from. */
export interface ModelSetup extends ModelSource {
  /** The file's, where it was made already. Default: made at its first use. */
  readonly tokenizer?: Tokenizer | undefined;
  /** The model as `LanguageModel.compile` compiled it for the same device and options. Default: it is compiled when it is opened. */
  readonly compiled?: Promise<CompiledModel> | undefined;
  /** Decodes weights that do not stay as in the file. Default: the formats' own decoders, on the calling thread. */
  readonly decoder?: BlockDecoder | undefined;
  /**
   * Opens the device again when it was lost, so that what runs can go on. Without it, a lost device fails whatever runs then
   * and later.
   */
  readonly reopen?: (() => Promise<Device>) | undefined;
  /** Shares the device's memory with other models. The device is not the model's then. */
  readonly sharedMemory?: SharedDeviceMemory | undefined;
  /** The device is somebody else's, who disposes it. Default false. */
  readonly sharesDevice?: boolean | undefined;
  /** Makes what holds texts to schemas and patterns. Default: on the calling thread. */
  readonly constraints?: ConstraintMaker | undefined;
  /** Proposes tokens, `speculation` of them at once, that the model only checks: a smaller model of the same vocabulary. */
  readonly draft?: DraftModel | DraftSource | undefined;
}

/** A model on one device: its plan, and the loader that brings its weights. It ends before the device, which it does not own. */
export class LoadedModel implements AsyncDisposable {
  readonly plan: ExecutionPlan;
  /** Where the memory went, in bytes. */
  readonly fit: FitPlan;
  readonly description: ModelDescription;
  /** What it was planned for at last: the context may be smaller than the one asked for. */
  readonly options: PlanOptions;

  private constructor(
    readonly device: Device,
    { plan, fit, description, options }: PlannedModel,
    readonly loader: AsyncModelLoader,
    /** What the mode loads before anything asks for it. */
    readonly loading: Promise<LoadReport>,
  ) {
    this.plan = plan;
    this.fit = fit;
    this.description = description;
    this.options = options;
  }

  /**
   * Plans and allocates a model, and loads it as the mode says. Rejects with `ARCHITECTURE_UNKNOWN`, `MODEL_…`,
   * `OUT_OF_MEMORY`, `ABORTED` or what reading rejects with, everything released that it created.
   */
  static async open(setup: ModelSetup, options: ModelOptions): Promise<LoadedModel> {
    const { device, decoder, sharedMemory } = setup;
    const log = options.logger ?? silentLogger;
    const begin = performance.now();
    const planned = await planToFit(setup, options, await limitsOf(setup, options), setup.compiled);
    const { plan, fit } = planned;
    log.debug('planned', { ...summaryOf(fit), ms: performance.now() - begin });
    for (const unread of planned.description.unread.found)
      log.warn('a part of the file is not read', { ...unread });
    const { streamedParts, weights, context } = fit;
    if (options.context !== undefined && context < options.context)
      log.warn('memory is short: the context is smaller', { context, asked: options.context });
    if (streamedParts > 0)
      log.warn('weights do not fit: layers come anew in every step', { streamedParts, weights });
    const sizes = options.load === 'sync' ? { ...fit.loader, ...SYNCHRONOUS } : fit.loader;
    const { trace, hostMemory } = options;
    const loader = new AsyncModelLoader(device, { ...sizes, decoder, trace, hostMemory, logger: log });
    try {
      throwIfAborted(options.signal, 'loading');
      await plan.allocate(fit, loader, { sharedMemory, signal: options.signal });
      const mode = options.load ?? 'background';
      const before = { open: setup.gguf.openSeconds, plan: (performance.now() - begin) / 1000 };
      const loading = loadByMode(plan, { ...options, mode, logger: log, before });
      // Whoever asks for weights learns of their failure; not everybody asks `loaded`.
      loading.catch(() => {});
      if (mode !== 'background') await loading;
      return new LoadedModel(device, planned, loader, loading);
    } catch (error) {
      await loader[Symbol.asyncDispose]();
      await plan[Symbol.asyncDispose]();
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.loader[Symbol.asyncDispose]();
    await this.plan[Symbol.asyncDispose]();
  }
}

/** What the caller allows, within what the device has. */
export async function limitsOf(
  { device, sharedMemory }: ModelSetup,
  { memory, weightMemory, hostMemory }: ModelOptions,
): Promise<MemoryLimits> {
  const free = sharedMemory ? sharedMemory.room.unreserved : (await device.memory()).free;
  return { weightMemory, memory, hostMemory, free };
}

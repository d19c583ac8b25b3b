import { throwIfAborted } from '../../base/errors.ts';
import { type Logger, silentLogger } from '../../base/log.ts';
import type { BlockDecoder, Device } from '../../device/index.ts';
import type { GgufFile } from '../../gguf/index.ts';
import { AsyncModelLoader, type LoadReport, SYNCHRONOUS } from '../../load/async-model-loader.ts';
import type { LoadProgress } from '../../load/load-progress.ts';
import type { LoadTrace } from '../../load/load-trace.ts';
import type { SharedDeviceMemory } from '../../load/shared-device-memory.ts';
import type { SamplingNumberName } from '../../ops/index.ts';
import type { ExecutionPlan } from '../../plan/execution-plan.ts';
import { type FitPlan, freeOf, type MemoryLimits, summaryOf } from '../../plan/memory/fit-plan.ts';
import type { ModelDescription, ModelSource, PlanOptions } from '../../plan/parts/plan-options.ts';
import { type CompiledModel, type PlannedModel, planToFit } from '../../plan/plan-to-fit.ts';
import type { DraftModel, DraftSource } from './draft-model.ts';
import type { ConstraintMaker, Tokenizer } from '../../text/index.ts';
import { type LoadMode, loadByMode } from './load-mode.ts';
import type { RuntimeOptions } from '../jobs/runtime-options.ts';
import type { StepProfile } from '../jobs/step-profile.ts';
import type { BlockEvent } from '../../state/held-blocks.ts';

/** Options for opening a model. */
export interface ModelOptions extends PlanOptions, Omit<MemoryLimits, 'free' | 'stageFree' | 'stageMemory'> {
  /** When weights are loaded. Default `background`. */
  readonly load?: LoadMode | undefined;
  /** Number of layers that `hybrid` loads before the model is returned. Default: a quarter of them. */
  readonly layers?: number | undefined;
  /** Receives the progress of loading. */
  readonly onProgress?: ((progress: LoadProgress) => void) | undefined;
  /** Records everything that takes time while loading. */
  readonly trace?: LoadTrace | undefined;
  /** Fewest draft tokens per sequence and step: where fewer are proposed, none are verified. Default 0; more than the default most raises that. */
  readonly minDraftTokens?: number | undefined;
  /** A draft model proposes no token that it finds less probable than this, and none behind it. Default 0. */
  readonly minDraftProbability?: number | undefined;
  /** Mechanisms of the engine to switch off. Default: none. */
  readonly runtime?: Partial<RuntimeOptions> | undefined;
  /** Receives the times of steps. */
  readonly profile?: StepProfile | undefined;
  /**
   * Learns which prefixes of prompts can be reused, block by block, for routing by prefix. Models with state that cannot be shared
   * (recurrent ones) tell nothing.
   */
  readonly onBlocks?: ((events: readonly BlockEvent[]) => void) | undefined;
  /**
   * A chat template that replaces the file's: the text of a Jinja template, the name of a variant in the file, or
   * `rwkv-world`.
   */
  readonly chatTemplate?: string | undefined;
  /** Aborts loading with `ABORTED`. */
  readonly signal?: AbortSignal | undefined;
  /** Receives log messages of phases and steps. Default: none. */
  readonly logger?: Logger | undefined;
}

/** What a model is opened from. */
export interface ModelSetup extends ModelSource {
  /** The file's tokenizer, if it was created already. Default: created on first use. */
  readonly tokenizer?: Tokenizer | undefined;
  /**
   * The model as compiled by `LanguageModel.compile` for the same device and options. Default: compiled when it is
   * opened.
   */
  readonly compiled?: Promise<CompiledModel> | undefined;
  /** Decodes weights that do not keep the file's format. Default: the formats' own decoders, on the calling thread. */
  readonly decoder?: BlockDecoder | undefined;
  /**
   * Reopens the device after a loss, so that running requests can continue. Without it, they and all later ones fail.
   */
  readonly reopen?: (() => Promise<Device>) | undefined;
  /** Shares the device's memory with other models. The model then does not own the device. */
  readonly sharedMemory?: SharedDeviceMemory | undefined;
  /** Whether the caller owns and disposes the device. Default false. */
  readonly sharesDevice?: boolean | undefined;
  /** Opens the file of an adapter that is loaded later. Default: there are no such. */
  readonly openFile?: ((location: string) => Promise<GgufFile>) | undefined;
  /** Creates constraints for schemas and patterns. Default: on the calling thread. */
  readonly constraints?: ConstraintMaker | undefined;
  /** How the model's repository recommends to sample, where its file does not say. */
  readonly sampling?: Readonly<Partial<Record<SamplingNumberName, number>>> | undefined;
  /** The draft model for speculation: a smaller model with the same vocabulary. */
  readonly draft?: DraftModel | DraftSource | undefined;
}

/**
 * A model on one device: its plan, and the loader of its weights. Disposed before the device, which it does not own.
 */
export class LoadedModel implements AsyncDisposable {
  readonly plan: ExecutionPlan;
  /** Memory use, in bytes. */
  readonly fit: FitPlan;
  readonly description: ModelDescription;
  /** The final options: the context may be smaller than requested. */
  readonly options: PlanOptions;

  private constructor(
    readonly device: Device,
    { plan, fit, description, options }: PlannedModel,
    readonly loader: AsyncModelLoader,
    /** The report of what the mode loads in advance. */
    readonly loading: Promise<LoadReport>,
  ) {
    this.plan = plan;
    this.fit = fit;
    this.description = description;
    this.options = options;
  }

  /**
   * Plans and allocates a model beside a draft model of so many bytes, and loads it according to the mode. Rejects with `ARCHITECTURE_UNKNOWN`, `MODEL_…`,
   * `OUT_OF_MEMORY`, `ABORTED` or with errors of reading, after releasing everything it created.
   */
  static async open(setup: ModelSetup, options: ModelOptions, draftMemory = 0): Promise<LoadedModel> {
    const { device, decoder, sharedMemory } = setup;
    const log = options.logger ?? silentLogger;
    const begin = performance.now();
    const limits = await limitsOf(setup, options, { draftMemory });
    const planned = await planToFit(setup, options, limits, setup.compiled);
    const { plan, fit } = planned;
    log.debug('planned', { ...summaryOf(fit), ms: performance.now() - begin });
    for (const unread of planned.description.unread.found)
      log.warn('a part of the file is not read', { ...unread });
    const { streamedParts, weights, context, expertSlots } = fit;
    if (options.context !== undefined && context < options.context)
      log.warn('memory is short: the context is smaller', { context, asked: options.context });
    if (streamedParts > 0)
      log.warn('weights do not fit: layers come anew in every step', { streamedParts, weights });
    if (expertSlots > 0) log.debug('not all experts are on the device', { expertSlots, weights });
    const sizes = options.load === 'sync' ? { ...fit.loader, ...SYNCHRONOUS } : fit.loader;
    const { trace, hostMemory } = options;
    const loader = new AsyncModelLoader(plan.setup.device, {
      ...sizes,
      decoder,
      trace,
      hostMemory,
      logger: log,
    });
    try {
      throwIfAborted(options.signal, 'loading');
      await plan.allocate(fit, loader, { sharedMemory, hostMemory, signal: options.signal });
      const mode = options.load ?? 'background';
      const before = { open: setup.gguf.openSeconds, plan: (performance.now() - begin) / 1000 };
      const loading = loadByMode(plan, { ...options, mode, logger: log, before });
      // Those who request weights see the failure; nobody may be awaiting `loaded`.
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

/**
 * The caller's limits, within the device's memory: with `alone`, all of it. Of the total memory, the model gets what a draft model leaves;
 * on a pipeline, that is on the last stage.
 */
export async function limitsOf(
  { device, sharedMemory }: ModelSetup,
  { memory, weightMemory, hostMemory }: ModelOptions,
  {
    alone = false,
    draftMemory = 0,
  }: { readonly alone?: boolean; readonly draftMemory?: number | undefined } = {},
): Promise<MemoryLimits> {
  const found = await freeOf(device, { alone });
  const free = sharedMemory && !alone ? sharedMemory.room.unreserved : found.free;
  const limits = { weightMemory, hostMemory, ...found, free };
  if (memory === undefined) return limits;
  const left = Math.max(0, memory - draftMemory);
  const stages = found.stageFree;
  if (!stages) return { ...limits, memory: left };
  const stageMemory = stages.map((_, stage) => (stage === stages.length - 1 ? left : memory));
  return { ...limits, memory, stageMemory };
}

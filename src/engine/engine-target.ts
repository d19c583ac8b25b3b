import type { MemoryInfo } from '../device/index.ts';
import type { LoadReport } from '../load/async-model-loader.ts';
import type { ModelConfig } from '../model/model-config.ts';
import type { Generation } from '../runtime/generation.ts';
import type { GenerateRequest, SequenceSink } from '../runtime/sequence.ts';
import type { VectorPooling } from './embedding.ts';
import type { EngineActivity, EngineCounters } from './engine-setup.ts';
import type { ChatOptions } from './generate-options.ts';
import type { TokenRules } from './token-rules.ts';

/**
 * A request to continue token ids. All of it except the signal and a custom constraint can be sent to another thread.
 */
export interface TokensRequest extends Omit<GenerateRequest, 'adapters'> {
  /** By name, with their scales. Default: those that apply by default. */
  readonly adapters?: ReadonlyMap<string, number> | undefined;
  /** The form that constrains the text, as written by `writeForm`. Default: none. */
  readonly form?: string | undefined;
  /** Restrictions on its tokens. Default: none. */
  readonly rules?: TokenRules | undefined;
  /** Constraints on an answer's reasoning, and the tools whose calls may end it. Default: the text is not an answer. */
  readonly answer?: Pick<ChatOptions, 'reasoning' | 'tools'> | undefined;
}

/** How the rows of a text are pooled into a vector; `none` for all of them. */
export interface VectorRequest {
  readonly pooling: VectorPooling | 'none';
  readonly signal?: AbortSignal | undefined;
}

/** The memory of the device that an engine runs on, or of one of several. */
export interface CardMemory extends MemoryInfo {
  /** The hardware's name as reported by its driver. */
  readonly name: string;
}

/**
 * An engine with a model, from token ids to token ids. It runs either on the caller's thread, which then has access to
 * plan, weights and device, or on its own thread, where nothing that the caller does can delay its steps.
 */
export interface EngineTarget {
  readonly config: Pick<ModelConfig, 'architecture' | 'width' | 'pooling' | 'classifier'>;
  /** Maximum positions of a sequence. */
  readonly context: number;
  /** Prompt tokens per step. */
  readonly batch: number;
  /** Size of the vocabulary: number of logits per position. */
  readonly vocabulary: number;
  /** The adapters that requests can select, with their default scales. */
  readonly adapters: ReadonlyMap<string, number>;
  /** How many adapters there is room for. */
  readonly maxAdapters: number;
  /** Running and waiting sequences: current, or a few hundredths of a second old if the engine has its own thread. */
  readonly activity: EngineActivity;
  /** Totals so far; as old as `activity`. */
  readonly counters: EngineCounters;
  /** The memory of its device now, in bytes; of each by rank, where there are several. Rejects with the device's error. */
  cards(): Promise<readonly CardMemory[]>;
  /** Resolves with a report of what was loaded in advance; rejects if that failed. */
  readonly loaded: Promise<LoadReport>;
  /** Settles if the engine's thread ends unexpectedly; nothing works after that. */
  readonly lost?: Promise<Error> | undefined;
  /**
   * Starts continuing ids into a sink. Errors of the request fail the sink. Throws `DISPOSED`.
   * @internal
   */
  begin(request: TokensRequest, sink: SequenceSink): Generation;
  /**
   * The rows of a model that embeds or ranks, pooled: f32 [width]; or all of them: f32 [ids * width]. Rejects with `CONTEXT_OVERFLOW`, or as `evaluate`.
   * @internal
   */
  vector(ids: readonly number[], request: VectorRequest): Promise<Float32Array>;
  /** Clears the cached prefixes of earlier conversations. */
  reset(): void | Promise<void>;
  /** Releases everything. */
  dispose(): Promise<void>;
}

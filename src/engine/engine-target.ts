import type { LoadReport } from '../load/async-model-loader.ts';
import type { ModelConfig } from '../model/model-config.ts';
import type { Generation } from '../runtime/generation.ts';
import type { GenerateRequest, SequenceSink } from '../runtime/sequence.ts';
import type { VectorPooling } from './embedding.ts';
import type { EngineActivity, EngineCounters } from './engine-setup.ts';
import type { ChatOptions } from './generate-options.ts';
import type { TokenRules } from './token-rules.ts';

/** Token ids to be continued. All of it but the signal and a constraint of the caller's own can be sent to another thread. */
export interface TokensRequest extends GenerateRequest {
  /** What the text is held to, as `writeForm` writes it. Default: nothing. */
  readonly form?: string | undefined;
  /** Which tokens it may be of. Default: all. */
  readonly rules?: TokenRules | undefined;
  /** What an answer's reasoning is held to, and the tools whose calls may end it. Default: it is no answer. */
  readonly answer?: Pick<ChatOptions, 'reasoning' | 'tools'> | undefined;
}

/** How the rows of a text become its vector. */
export interface VectorRequest {
  readonly pooling: VectorPooling;
  readonly signal?: AbortSignal | undefined;
}

/**
 * An engine with a model, which takes token ids and gives token ids: on the thread of its caller, where its plan, weights and
 * device are at hand, or on a thread of its own, so that nothing that the caller does holds up its steps.
 */
export interface EngineTarget {
  readonly config: Pick<ModelConfig, 'architecture' | 'width' | 'pooling'>;
  /** Positions that a sequence may have. */
  readonly context: number;
  /** Prompt tokens of one step. */
  readonly batch: number;
  /** Logits of a position: ids below it can be sampled. */
  readonly vocabulary: number;
  /** The adapters that requests may choose from, and their scales for those who do not. */
  readonly adapters: ReadonlyMap<string, number>;
  /** What it is busy with: at this moment, or a few hundredths of a second ago where it has a thread of its own. */
  readonly activity: EngineActivity;
  /** What it has done so far; as old as `activity`. */
  readonly counters: EngineCounters;
  /** Resolves with what was loaded before anything asked for it; rejects when that failed. */
  readonly loaded: Promise<LoadReport>;
  /** Settles when the engine's thread has ended without having been asked to: nothing works any more. */
  readonly lost?: Promise<Error> | undefined;
  /**
   * Begins to continue ids into a sink. What is wrong with the request fails the sink. Throws `DISPOSED`.
   * @internal
   */
  begin(request: TokensRequest, sink: SequenceSink): Generation;
  /**
   * The rows of an encoder as one vector: f32 [width]. Rejects with `CONTEXT_OVERFLOW`, or as `evaluate`.
   * @internal
   */
  vector(ids: readonly number[], request: VectorRequest): Promise<Float32Array>;
  /** Forgets what is cached of the last conversation. */
  reset(): void | Promise<void>;
  /** Releases everything. */
  dispose(): Promise<void>;
}

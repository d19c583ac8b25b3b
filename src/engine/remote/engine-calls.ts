import type { LogFields } from '../../base/log.ts';
import type { DeviceInfo } from '../../device/index.ts';
import type { LoadReport } from '../../load/async-model-loader.ts';
import type { LoadProgress } from '../../load/load-progress.ts';
import type { FitSummary } from '../../plan/memory/fit-plan.ts';
import type { SampledToken } from '../../runtime/jobs/sampled-token.ts';
import type { ProfileNote } from '../../runtime/jobs/step-profile.ts';
import type { GenerationEnd } from '../../runtime/sequence.ts';
import type { SequenceSnapshot } from '../../runtime/sequence-snapshot.ts';
import type { VectorPooling } from '../embedding.ts';
import type { EngineActivity, EngineCounters } from '../engine-setup.ts';
import type { EngineTarget, TokensRequest } from '../engine-target.ts';

/** What may be said in a log: `enabled` is asked without waiting. */
export type LogDetail = 'info' | 'debug' | 'trace';

/** How an engine is opened on a thread of its own; what the platform's loader takes is `O`. */
export interface OpenRequest<O> {
  readonly request: O;
  /** The most verbose level that is written. */
  readonly logs: LogDetail;
  /** Notes of steps are wanted, with or without each step's own. */
  readonly profile: { readonly withTrace: boolean } | undefined;
}

/** An opened engine, as the text's side knows it. */
export interface EngineDescription extends Pick<
  EngineTarget,
  'config' | 'context' | 'batch' | 'vocabulary' | 'adapters'
> {
  readonly device: DeviceInfo;
  /** Where the memory went, in bytes. */
  readonly fit: FitSummary;
}

/** What an engine is busy with and has done. */
export interface EngineState {
  readonly activity: EngineActivity;
  readonly counters: EngineCounters;
}

/** What an engine tells without being asked. */
export type EngineNews =
  | { readonly kind: 'progress'; readonly progress: LoadProgress }
  | { readonly kind: 'log'; readonly level: LogDetail | 'warn'; readonly message: string; fields: LogFields }
  | { readonly kind: 'profile'; readonly note: ProfileNote }
  | { readonly kind: 'state'; readonly state: EngineState };

/** The calls into the thread of an engine that is open. */
export interface EngineCalls {
  /** Continues ids: a token is its id, unless it was to be scored. */
  readonly begin: {
    asks: Omit<TokensRequest, 'signal' | 'constraint' | 'prompt'> & { readonly prompt: Float64Array };
    value: number | SampledToken;
    answer: GenerationEnd;
  };
  readonly vector: {
    asks: { readonly ids: readonly number[]; readonly pooling: VectorPooling };
    value: never;
    answer: Float32Array;
  };
  readonly save: { asks: readonly number[]; value: never; answer: SequenceSnapshot };
  readonly restore: { asks: SequenceSnapshot; value: never; answer: void };
  readonly loaded: { asks: undefined; value: never; answer: LoadReport };
  readonly reset: { asks: undefined; value: never; answer: void };
  readonly dispose: { asks: undefined; value: never; answer: void };
}

/** All calls into an engine's thread. */
export interface EngineThreadCalls<O> extends EngineCalls {
  /** Brings news until the engine is disposed; asked before `open`. */
  readonly news: { asks: undefined; value: EngineNews; answer: void };
  readonly open: { asks: OpenRequest<O>; value: never; answer: EngineDescription };
}

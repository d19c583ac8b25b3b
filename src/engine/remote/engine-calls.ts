import type { LogFields } from '../../base/log.ts';
import type { DeviceInfo } from '../../device/index.ts';
import type { LoadReport } from '../../load/async-model-loader.ts';
import type { LoadProgress } from '../../load/load-progress.ts';
import type { FitSummary } from '../../plan/memory/fit-plan.ts';
import type { SampledToken } from '../../runtime/jobs/sampled-token.ts';
import type { BlockEvent } from '../../state/held-blocks.ts';
import type { ProfileNote } from '../../runtime/jobs/step-profile.ts';
import type { GenerationEnd, PromptProgress } from '../../runtime/sequence.ts';
import type { SequenceSnapshot, StateShape } from '../../runtime/sequence-snapshot.ts';
import type { AdapterChange } from '../adapter-change.ts';
import type { EngineActivity, EngineCounters } from '../engine-setup.ts';
import type { CardMemory, EngineTarget, TokensRequest, VectorRequest } from '../engine-target.ts';
import type { ScoredId, ScoreOptions } from '../score.ts';

/** A log level: `enabled` must answer synchronously. */
export type LogDetail = 'info' | 'debug' | 'trace';

/** How an engine is opened on its own thread; `O` are the options of the platform's loader. */
export interface OpenRequest<O> {
  readonly request: O;
  /** The most verbose level that is logged. */
  readonly logs: LogDetail;
  /** Whether step times are wanted, and whether each step's own. */
  readonly profile: { readonly withTrace: boolean } | undefined;
  /** Whether the caller wants to know which prefixes can be reused. */
  readonly blocks: boolean;
}

/** An open engine, as described to the text side. */
export interface EngineDescription extends Pick<
  EngineTarget,
  'config' | 'context' | 'batch' | 'vocabulary' | 'adapters' | 'maxAdapters'
> {
  readonly device: DeviceInfo;
  /** Memory use, in bytes. */
  readonly fit: FitSummary;
}

/** An engine's activity and counters. */
export interface EngineState {
  readonly activity: EngineActivity;
  readonly counters: EngineCounters;
}

/** What an engine reports on its own. */
export type EngineReport =
  | { readonly kind: 'progress'; readonly progress: LoadProgress }
  | { readonly kind: 'log'; readonly level: LogDetail | 'warn'; readonly message: string; fields: LogFields }
  | { readonly kind: 'profile'; readonly note: ProfileNote }
  | { readonly kind: 'blocks'; readonly events: readonly BlockEvent[] }
  | { readonly kind: 'state'; readonly state: EngineState };

/** A slot, and the tenant to whom others' texts there do not exist, if one is named. */
interface SlotOfTenant {
  readonly slot?: number | undefined;
  readonly tenant?: string | undefined;
}

/** Calls into the thread of an open engine. */
export interface EngineCalls {
  /** Continues ids. A token is sent as its id, unless log probabilities were requested; progress of the prompt before. */
  readonly begin: {
    asks: Omit<TokensRequest, 'signal' | 'constraint' | 'prompt'> & { readonly prompt: Float64Array };
    value: number | SampledToken | PromptProgress;
    answer: GenerationEnd;
  };
  readonly vector: {
    asks: Omit<VectorRequest, 'signal'> & { readonly ids: readonly number[] };
    value: never;
    answer: Float32Array;
  };
  readonly score: {
    asks: Omit<ScoreOptions, 'signal'> & { readonly ids: readonly number[] };
    value: never;
    answer: ScoredId[];
  };
  readonly save: { asks: readonly number[]; value: never; answer: SequenceSnapshot };
  readonly saveSlot: {
    asks: SlotOfTenant & { readonly slot: number };
    value: never;
    answer: SequenceSnapshot;
  };
  readonly eraseSlot: { asks: SlotOfTenant & { readonly slot: number }; value: never; answer: number };
  readonly restore: {
    asks: SlotOfTenant & { readonly snapshot: SequenceSnapshot };
    value: never;
    answer: void;
  };
  readonly stateShape: { asks: number; value: never; answer: StateShape };
  /** The answer is what the adapters are then. */
  readonly changeAdapters: { asks: AdapterChange; value: never; answer: ReadonlyMap<string, number> };
  readonly loaded: { asks: undefined; value: never; answer: LoadReport };
  readonly cards: { asks: undefined; value: never; answer: readonly CardMemory[] };
  readonly reset: { asks: undefined; value: never; answer: void };
  readonly dispose: { asks: undefined; value: never; answer: void };
}

/** All calls into an engine's thread. */
export interface EngineThreadCalls<O> extends EngineCalls {
  /** Streams reports until the engine is disposed; called before `open`. */
  readonly reports: { asks: undefined; value: EngineReport; answer: void };
  readonly open: { asks: OpenRequest<O>; value: never; answer: EngineDescription };
}

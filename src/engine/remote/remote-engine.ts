import type { DeviceInfo } from '../../device/index.ts';
import type { FitSummary } from '../../plan/memory/fit-plan.ts';
import type { SequenceSnapshot, StateShape } from '../../runtime/sequence-snapshot.ts';
import type { AdapterChange } from '../adapter-change.ts';
import type { EngineTarget } from '../engine-target.ts';
import type { ScoredId, ScoreOptions } from '../score.ts';

/**
 * What a `RemoteModel` reads and writes texts with: an engine on a thread of its own, or several with the same model. Methods have
 * the meanings and errors that `TextModel` gives to those of their names. Its owner disposes it once.
 */
export interface RemoteEngine extends EngineTarget {
  /** The device's description when the model was opened; of several, the first one's. */
  readonly device: DeviceInfo;
  /** Memory use, in bytes; of several engines, of one. */
  readonly fit: FitSummary;
  /** Settles once nothing works any more. */
  readonly lost: Promise<Error>;
  score(ids: readonly number[], options: ScoreOptions): Promise<ScoredId[]>;
  saveState(ids: readonly number[], signal?: AbortSignal): Promise<SequenceSnapshot>;
  saveSlot(slot: number, signal?: AbortSignal, tenant?: string): Promise<SequenceSnapshot>;
  eraseSlot(slot: number, signal?: AbortSignal, tenant?: string): Promise<number>;
  restoreState(snapshot: SequenceSnapshot, slot?: number, tenant?: string): Promise<void>;
  stateShape(length: number): Promise<StateShape>;
  changeAdapters(change: AdapterChange): Promise<void>;
  reset(): Promise<void>;
}

import { fail, RocmforgeError } from '../../base/errors.ts';
import type { CallClient } from '../../calls/index.ts';
import type { DeviceInfo } from '../../device/index.ts';
import type { LoadReport } from '../../load/async-model-loader.ts';
import type { FitSummary } from '../../plan/memory/fit-plan.ts';
import type { Generation } from '../../runtime/generation.ts';
import type { SequenceSink } from '../../runtime/sequence.ts';
import type { SequenceSnapshot, StateShape } from '../../runtime/sequence-snapshot.ts';
import type { AdapterChange } from '../adapter-change.ts';
import type { EngineActivity, EngineCounters } from '../engine-setup.ts';
import type { CardMemory, EngineTarget, TokensRequest, VectorRequest } from '../engine-target.ts';
import type { ScoredId, ScoreOptions } from '../score.ts';
import type { EngineCalls, EngineDescription, EngineState } from './engine-calls.ts';
import type { RemoteEngine } from './remote-engine.ts';
import { RemoteGeneration } from './remote-generation.ts';

/** The parts of an engine on its own thread. */
export interface ThreadEngineSetup {
  /** Calls into the engine's thread. */
  readonly client: CallClient<EngineCalls>;
  /** The engine's description when it was opened. */
  readonly description: EngineDescription;
  /** The engine's latest reported state; undefined before the first report. */
  readonly state: () => EngineState | undefined;
}

/** An engine that runs on its own thread, with loading, steps and device. Owns the thread. */
export class ThreadEngine implements RemoteEngine {
  readonly config: EngineTarget['config'];
  readonly context: number;
  readonly batch: number;
  readonly vocabulary: number;
  readonly maxAdapters: number;
  readonly device: DeviceInfo;
  readonly fit: FitSummary;
  readonly lost: Promise<Error>;
  #adapters: ReadonlyMap<string, number>;
  readonly #client: CallClient<EngineCalls>;
  readonly #state: ThreadEngineSetup['state'];

  constructor({ client, description, state }: ThreadEngineSetup) {
    const { config, context, batch, vocabulary, adapters, maxAdapters, device, fit } = description;
    this.config = config;
    this.context = context;
    this.batch = batch;
    this.vocabulary = vocabulary;
    this.#adapters = adapters;
    this.maxAdapters = maxAdapters;
    this.device = device;
    this.fit = fit;
    this.lost = client.lost;
    this.#client = client;
    this.#state = state;
  }

  get activity(): EngineActivity {
    const cache = { blockSize: this.context, blocks: 0, used: 0 };
    return this.#state()?.activity ?? { slots: 0, context: this.context, cache, sequences: [] };
  }

  get counters(): EngineCounters {
    const none = { steps: 0, bytesUp: 0, bytesBack: 0, preparedHits: 0, preparedMisses: 0 };
    const experts = {
      ...{ expertHits: 0, expertMisses: 0 },
      ...{ expertPrefetches: 0, expertPrefetchesUsed: 0, expertBytes: 0 },
    };
    return this.#state()?.counters ?? { ...none, preparedAhead: 0, preparedAheadUsed: 0, ...experts };
  }

  get adapters(): ReadonlyMap<string, number> {
    return this.#adapters;
  }

  get loaded(): Promise<LoadReport> {
    return this.#client.call('loaded', undefined);
  }

  cards(): Promise<readonly CardMemory[]> {
    return this.#client.call('cards', undefined);
  }

  begin({ signal, constraint, ...asks }: TokensRequest, sink: SequenceSink): Generation {
    if (constraint) {
      const expected = 'schema, json, regex, choices or grammar: the engine has a thread of its own';
      fail('INVALID_ARGUMENT', { name: 'constraint', found: 'an object', expected });
    }
    // A plain array would be cloned element by element.
    const sent = { ...asks, prompt: Float64Array.from(asks.prompt) };
    return new RemoteGeneration(sink).begin((listener) =>
      this.#client.begin('begin', sent, listener, { signal }),
    );
  }

  vector(ids: readonly number[], { pooling, signal }: VectorRequest): Promise<Float32Array> {
    return this.#client.call('vector', { ids, pooling }, signal);
  }

  score(ids: readonly number[], { signal, ...options }: ScoreOptions): Promise<ScoredId[]> {
    return this.#client.call('score', { ids, ...options }, signal);
  }

  saveState(ids: readonly number[], signal?: AbortSignal): Promise<SequenceSnapshot> {
    return this.#client.call('save', ids, signal);
  }

  saveSlot(slot: number, signal?: AbortSignal, tenant?: string): Promise<SequenceSnapshot> {
    return this.#client.call('saveSlot', { slot, tenant }, signal);
  }

  eraseSlot(slot: number, signal?: AbortSignal, tenant?: string): Promise<number> {
    return this.#client.call('eraseSlot', { slot, tenant }, signal);
  }

  async restoreState(snapshot: SequenceSnapshot, slot?: number, tenant?: string): Promise<void> {
    await this.#client.call('restore', { snapshot, slot, tenant });
  }

  stateShape(length: number): Promise<StateShape> {
    return this.#client.call('stateShape', length);
  }

  async changeAdapters(change: AdapterChange): Promise<void> {
    this.#adapters = await this.#client.call('changeAdapters', change);
  }

  async reset(): Promise<void> {
    await this.#client.call('reset', undefined);
  }

  /** Releases everything and ends the thread. */
  async dispose(): Promise<void> {
    const released = this.#client.call('dispose', undefined);
    await this.#client.endAfter(released, new RocmforgeError('DISPOSED', { what: 'the model' }));
  }
}

import { Lifetime } from '../../base/disposal.ts';
import { fail, RocmforgeError } from '../../base/errors.ts';
import type { CallClient } from '../../calls/index.ts';
import type { DeviceInfo } from '../../device/index.ts';
import type { GgufFile } from '../../gguf/index.ts';
import type { LoadReport } from '../../load/async-model-loader.ts';
import type { FitSummary } from '../../plan/memory/fit-plan.ts';
import type { Generation } from '../../runtime/generation.ts';
import type { SequenceSink } from '../../runtime/sequence.ts';
import type { SequenceSnapshot, StateShape } from '../../runtime/sequence-snapshot.ts';
import type { EngineActivity, EngineCounters } from '../engine-setup.ts';
import type { ChatMessage } from '../../text/index.ts';
import type { EngineTarget, TokensRequest, VectorRequest } from '../engine-target.ts';
import { checkCall } from '../option-names.ts';
import type { PromptThread } from './prompt-thread.ts';
import type { ModelText } from '../model-text.ts';
import type { ScoredId, ScoreOptions } from '../score.ts';
import { TextModel } from '../text-model.ts';
import type { AdapterChange } from '../adapter-change.ts';
import type { EngineCalls, EngineDescription, EngineState } from './engine-calls.ts';
import { RemoteGeneration } from './remote-generation.ts';

/** Numbers of messages, and of characters in them and in other template inputs, that render in a few milliseconds. */
const [FEW_TURNS, FEW_CHARACTERS] = [32, 16 * 1024];

/** The parts of a model whose engine has its own thread. */
export interface RemoteModelSetup {
  /** Calls into the engine's thread. */
  readonly client: CallClient<EngineCalls>;
  /** The engine's description when it was opened. */
  readonly description: EngineDescription;
  /** The file, opened on this thread for tokenizer and template. */
  readonly gguf: GgufFile;
  readonly text: ModelText;
  /** Encodes long conversations on another thread. Default: this thread does. */
  readonly prompts?: PromptThread<unknown> | undefined;
  /** The engine's latest reported state; undefined before the first report. */
  readonly state: () => EngineState | undefined;
}

/**
 * A model whose engine runs on its own thread, with loading, steps and device. This thread has the text side, and
 * nothing it does delays a step. Only `LanguageModel` gives access to the device. Owns the thread and its file.
 */
export class RemoteModel extends TextModel {
  readonly config: EngineTarget['config'];
  readonly context: number;
  readonly batch: number;
  readonly vocabulary: number;
  #adapters: ReadonlyMap<string, number>;
  readonly maxAdapters: number;
  readonly gguf: GgufFile;
  /** The device's description when the model was opened. */
  readonly device: { readonly info: DeviceInfo };
  /** Memory use, in bytes. */
  readonly fit: FitSummary;
  override readonly lost: Promise<Error>;
  /** @internal */
  protected readonly text: ModelText;
  readonly #client: CallClient<EngineCalls>;
  readonly #state: RemoteModelSetup['state'];
  readonly #prompts: RemoteModelSetup['prompts'];
  readonly #life = new Lifetime('the model');

  /** @internal */
  constructor({ client, description, gguf, text, prompts, state }: RemoteModelSetup) {
    super();
    const { config, context, batch, vocabulary, adapters, maxAdapters, device, fit } = description;
    this.config = config;
    this.context = context;
    this.batch = batch;
    this.vocabulary = vocabulary;
    this.#adapters = adapters;
    this.maxAdapters = maxAdapters;
    this.gguf = gguf;
    this.device = { info: device };
    this.fit = fit;
    this.text = text;
    this.lost = client.lost;
    this.#client = client;
    this.#state = state;
    this.#prompts = prompts;
  }

  get activity(): EngineActivity {
    const cache = { blockSize: this.context, blocks: 0, used: 0 };
    return this.#state()?.activity ?? { slots: 0, context: this.context, cache, sequences: [] };
  }

  get counters(): EngineCounters {
    const none = { steps: 0, bytesUp: 0, bytesBack: 0, preparedHits: 0, preparedMisses: 0 };
    const experts = { expertHits: 0, expertMisses: 0, expertBytes: 0 };
    return this.#state()?.counters ?? { ...none, preparedAhead: 0, preparedAheadUsed: 0, ...experts };
  }

  get loaded(): Promise<LoadReport> {
    return this.#client.call('loaded', undefined);
  }

  /**
   * The token ids of a conversation, as `chat` uses it; a long one is rendered and encoded on another thread. Rejects
   * as the template throws, and with `ABORTED` when the signal fires.
   */
  override async chatPrompt(
    messages: readonly ChatMessage[],
    options: Parameters<TextModel['chatPrompt']>[1] = {},
  ): Promise<number[]> {
    if (!this.#prompts || !isLong(messages, options)) return super.chatPrompt(messages, options);
    this.checkAlive();
    checkCall('chatPrompt', options);
    const { signal, ...how } = options;
    return this.#prompts.encode(messages, how, signal);
  }

  /** @internal */
  begin({ signal, constraint, ...asks }: TokensRequest, sink: SequenceSink): Generation {
    this.checkAlive();
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

  /** @internal */
  async vector(ids: readonly number[], { pooling, signal }: VectorRequest): Promise<Float32Array> {
    this.checkAlive();
    return this.#client.call('vector', { ids, pooling }, signal);
  }

  async score(ids: readonly number[], { signal, ...options }: ScoreOptions = {}): Promise<ScoredId[]> {
    this.checkAlive();
    return this.#client.call('score', { ids, ...options }, signal);
  }

  async saveState(ids: readonly number[], signal?: AbortSignal): Promise<SequenceSnapshot> {
    this.checkAlive();
    return this.#client.call('save', ids, signal);
  }

  async saveSlot(slot: number, signal?: AbortSignal): Promise<SequenceSnapshot> {
    this.checkAlive();
    return this.#client.call('saveSlot', slot, signal);
  }

  async eraseSlot(slot: number, signal?: AbortSignal): Promise<number> {
    this.checkAlive();
    return this.#client.call('eraseSlot', slot, signal);
  }

  async restoreState(snapshot: SequenceSnapshot, slot?: number): Promise<void> {
    this.checkAlive();
    await this.#client.call('restore', { snapshot, slot });
  }

  async stateShape(length: number): Promise<StateShape> {
    this.checkAlive();
    return this.#client.call('stateShape', length);
  }

  /** The adapters that requests can select, with their default scales. */
  get adapters(): ReadonlyMap<string, number> {
    return this.#adapters;
  }

  loadAdapter(name: string, location: string, scale = 0): Promise<void> {
    return this.#changeAdapters({ kind: 'load', name, location, scale });
  }

  unloadAdapter(name: string): Promise<void> {
    return this.#changeAdapters({ kind: 'unload', name });
  }

  scaleAdapters(scales: ReadonlyMap<string, number>): Promise<void> {
    return this.#changeAdapters({ kind: 'scale', scales });
  }

  async #changeAdapters(change: AdapterChange): Promise<void> {
    this.checkAlive();
    this.#adapters = await this.#client.call('changeAdapters', change);
  }

  async reset(): Promise<void> {
    this.checkAlive();
    await this.#client.call('reset', undefined);
  }

  /** Releases everything and ends the thread. */
  async dispose(): Promise<void> {
    if (!this.#life.end()) return;
    try {
      const released = this.#client.call('dispose', undefined);
      await this.#client.endAfter(released, new RocmforgeError('DISPOSED', { what: 'the model' }));
    } finally {
      await this.#prompts?.[Symbol.asyncDispose]();
      await this.gguf.dispose();
    }
  }

  /** @internal */
  protected checkAlive(): void {
    this.#life.check();
  }
}

/** Whether a conversation takes long to render. */
function isLong(
  messages: readonly ChatMessage[],
  { tools, variables }: NonNullable<Parameters<TextModel['chatPrompt']>[1]>,
): boolean {
  if (messages.length > FEW_TURNS) return true;
  return (JSON.stringify([messages, tools, variables]) ?? '').length > FEW_CHARACTERS;
}

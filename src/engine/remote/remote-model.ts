import { Lifetime } from '../../base/disposal.ts';
import type { DeviceInfo } from '../../device/index.ts';
import type { GgufFile } from '../../gguf/index.ts';
import type { LoadReport } from '../../load/async-model-loader.ts';
import type { FitSummary } from '../../plan/memory/fit-plan.ts';
import type { Generation } from '../../runtime/generation.ts';
import type { SequenceSink } from '../../runtime/sequence.ts';
import type { SequenceSnapshot, StateShape } from '../../runtime/sequence-snapshot.ts';
import type { ChatMessage } from '../../text/index.ts';
import type { AdapterChange } from '../adapter-change.ts';
import type { EngineActivity, EngineCounters } from '../engine-setup.ts';
import type { CardMemory, EngineTarget, TokensRequest, VectorRequest } from '../engine-target.ts';
import type { ModelText } from '../model-text.ts';
import { checkCallArguments } from '../call-arguments.ts';
import { checkCall } from '../option-names.ts';
import type { ScoredId, ScoreOptions } from '../score.ts';
import { TextModel } from '../text-model.ts';
import type { PromptThread } from './prompt-thread.ts';
import type { RemoteEngine } from './remote-engine.ts';

/** Numbers of messages, and of characters in them and in other template inputs, that render in a few milliseconds. */
const [FEW_TURNS, FEW_CHARACTERS] = [32, 16 * 1024];

/** The parts of a model whose engine has its own thread. */
export interface RemoteModelSetup {
  readonly engine: RemoteEngine;
  /** The file, opened on this thread for tokenizer and template. */
  readonly gguf: GgufFile;
  readonly text: ModelText;
  /** Encodes long conversations on another thread. Default: this thread does. */
  readonly prompts?: PromptThread<unknown> | undefined;
}

/**
 * A model whose engine runs on its own thread, with loading, steps and device, or whose engines do. This thread has the text side,
 * and nothing it does delays a step. Only `LanguageModel` gives access to the device. Owns engine and file.
 */
export class RemoteModel extends TextModel {
  readonly config: EngineTarget['config'];
  readonly context: number;
  readonly batch: number;
  readonly vocabulary: number;
  readonly maxAdapters: number;
  readonly gguf: GgufFile;
  /** The device's description when the model was opened; of several, the first one's. */
  readonly device: { readonly info: DeviceInfo };
  /** Memory use, in bytes; of several engines, of one. */
  readonly fit: FitSummary;
  override readonly lost: Promise<Error>;
  /** @internal */
  protected readonly text: ModelText;
  readonly #engine: RemoteEngine;
  readonly #prompts: RemoteModelSetup['prompts'];
  readonly #life = new Lifetime('the model');

  /** @internal */
  constructor({ engine, gguf, text, prompts }: RemoteModelSetup) {
    super();
    const { config, context, batch, vocabulary, maxAdapters, device, fit, lost } = engine;
    this.config = config;
    this.context = context;
    this.batch = batch;
    this.vocabulary = vocabulary;
    this.maxAdapters = maxAdapters;
    this.gguf = gguf;
    this.device = { info: device };
    this.fit = fit;
    this.text = text;
    this.lost = lost;
    this.#engine = engine;
    this.#prompts = prompts;
  }

  get activity(): EngineActivity {
    return this.#engine.activity;
  }

  get counters(): EngineCounters {
    return this.#engine.counters;
  }

  get loaded(): Promise<LoadReport> {
    return this.#engine.loaded;
  }

  cards(): Promise<readonly CardMemory[]> {
    return this.#engine.cards();
  }

  /**
   * The token ids of a conversation, as `chat` uses it; a long one is rendered and encoded on another thread. Rejects
   * as the template throws, and with `ABORTED` when the signal fires.
   */
  override async chatPrompt(
    messages: readonly ChatMessage[],
    options: Parameters<TextModel['chatPrompt']>[1] = {},
  ): Promise<number[]> {
    this.checkAlive();
    checkCall('chatPrompt', options);
    if (!this.#prompts || !isLong(messages, options)) return super.chatPrompt(messages, options);
    const { signal, ...how } = options;
    return this.#prompts.encode(messages, how, signal);
  }

  /** @internal */
  begin(request: TokensRequest, sink: SequenceSink): Generation {
    this.checkAlive();
    return this.#engine.begin(request, sink);
  }

  /** @internal */
  async vector(ids: readonly number[], request: VectorRequest): Promise<Float32Array> {
    this.checkAlive();
    return this.#engine.vector(ids, request);
  }

  async score(ids: readonly number[], options: ScoreOptions = {}): Promise<ScoredId[]> {
    this.checkAlive();
    checkCall('score', options);
    checkCallArguments({ ids });
    return this.#engine.score(ids, options);
  }

  async saveState(ids: readonly number[], signal?: AbortSignal): Promise<SequenceSnapshot> {
    this.checkAlive();
    checkCallArguments({ ids }, { signal });
    return this.#engine.saveState(ids, signal);
  }

  async saveSlot(slot: number, signal?: AbortSignal, tenant?: string): Promise<SequenceSnapshot> {
    this.checkAlive();
    checkCallArguments({ slot }, { signal, tenant });
    return this.#engine.saveSlot(slot, signal, tenant);
  }

  async eraseSlot(slot: number, signal?: AbortSignal, tenant?: string): Promise<number> {
    this.checkAlive();
    checkCallArguments({ slot }, { signal, tenant });
    return this.#engine.eraseSlot(slot, signal, tenant);
  }

  async restoreState(snapshot: SequenceSnapshot, slot?: number, tenant?: string): Promise<void> {
    this.checkAlive();
    checkCallArguments({ snapshot }, { slot, tenant });
    await this.#engine.restoreState(snapshot, slot, tenant);
  }

  async stateShape(length: number): Promise<StateShape> {
    this.checkAlive();
    checkCallArguments({ length });
    return this.#engine.stateShape(length);
  }

  /** The adapters that requests can select, with their default scales. */
  get adapters(): ReadonlyMap<string, number> {
    return this.#engine.adapters;
  }

  async loadAdapter(name: string, location: string, scale = 0): Promise<void> {
    checkCallArguments({ name, location, scale });
    await this.#changeAdapters({ kind: 'load', name, location, scale });
  }

  async unloadAdapter(name: string): Promise<void> {
    checkCallArguments({ name });
    await this.#changeAdapters({ kind: 'unload', name });
  }

  async scaleAdapters(scales: ReadonlyMap<string, number>): Promise<void> {
    checkCallArguments({ scales });
    await this.#changeAdapters({ kind: 'scale', scales });
  }

  async #changeAdapters(change: AdapterChange): Promise<void> {
    this.checkAlive();
    await this.#engine.changeAdapters(change);
  }

  async reset(): Promise<void> {
    this.checkAlive();
    await this.#engine.reset();
  }

  /** Releases everything and ends the threads. */
  async dispose(): Promise<void> {
    if (!this.#life.end()) return;
    try {
      await this.#engine.dispose();
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
  if (!Array.isArray(messages)) return false; // It is refused where it is rendered.
  if (messages.length > FEW_TURNS) return true;
  return (JSON.stringify([messages, tools, variables]) ?? '').length > FEW_CHARACTERS;
}

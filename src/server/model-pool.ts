import { beforeAbort } from '../base/before-abort.ts';
import { formatBytes } from '../base/bytes.ts';
import { fail, RocmforgeError, throwIfAborted } from '../base/errors.ts';
import { type Logger, silentLogger } from '../base/log.ts';
import { type Evictable, SharedRoom } from '../base/shared-room.ts';
import { timerSpan } from '../base/timer-span.ts';
import { type AdapterChange, AdapterChanges, changeAdapters } from '../engine/adapter-change.ts';
import { checkSavable } from '../engine/state-file.ts';
import type { TextModel } from '../engine/text-model.ts';
import { typedError } from './error-response.ts';
import type { ModelDetails } from './model-details.ts';

/** A model that can be served: its name, and how it is opened on demand. */
export interface ServedModel {
  readonly id: string;
  /** When the model was created, in seconds since 1970. */
  readonly created: number;
  /**
   * The memory that it takes once it is open, in bytes: required if the server's models are limited by memory. Rejects
   * with errors of opening.
   */
  memory?(signal: AbortSignal): Promise<number>;
  /** Its other names, which requests can use as well; a model of such a name comes first. */
  readonly aliases?: readonly string[] | undefined;
  /** Words that describe it, for clients. */
  readonly tags?: readonly string[] | undefined;
  /** Names of its adapters, which requests can use as the model's. Default: they are known once it is open. */
  readonly adapters?: readonly string[] | undefined;
  /** What its file says of it, without opening the model. Rejects with errors of reading. */
  details?(): Promise<ModelDetails>;
  /**
   * The SHA-256 of its files, in hexadecimal; undefined until it is known. The first call starts to compute it, on another
   * thread.
   */
  digest?(): string | undefined;
  /** Opens the model; `onProgress` receives the fraction loaded, from 0 to 1. */
  open(of: { signal: AbortSignal; onProgress: (part: number) => void }): Promise<TextModel>;
}

/** The state of a served model. */
export interface ModelStatus {
  readonly id: string;
  readonly source: ServedModel;
  /** When the model was made, in seconds since 1970. */
  readonly created: number;
  readonly state: 'unloaded' | 'loading' | 'ready' | 'failed';
  /** The fraction loaded, from 0 to 1. */
  readonly progress: number;
  /** Requests that use it or wait for it. */
  readonly users: number;
  /** Why its engine died, until it is loaded again. */
  readonly lost: Error | undefined;
  /** Why loading it failed last time, until it is tried again. */
  readonly failure: Error | undefined;
  /** The model, when it is ready. */
  readonly model: TextModel | undefined;
  /** The names of its adapters, as far as they are known. */
  readonly adapters: readonly string[];
  /** When it will be unloaded unless it is used before, in milliseconds since 1970; undefined: not by time. */
  readonly expires: number | undefined;
}

/** A model that stays loaded until the lease is disposed. */
export interface ModelLease extends Disposable {
  /** The name under which it is served. */
  readonly id: string;
  /** The name that it was requested by: that, or one of its adapters'. */
  readonly name: string;
  readonly model: TextModel;
}

/** Options of a pool. */
interface PoolOptions {
  /** Maximum models loaded at the same time. Default: as many as the memory holds. */
  readonly maxModels?: number | undefined;
  /** Maximum memory of loaded models, in bytes. Default: unlimited. */
  readonly memory?: number | undefined;
  readonly logger?: Logger | undefined;
  /** Lists the available models again. Default: they never change. */
  readonly discover?: (() => Promise<readonly ServedModel[]>) | undefined;
  /** Whether a request for a model that is not loaded loads it. Default true. */
  readonly autoload?: boolean | undefined;
  /** Unknown names stand for the first model. Default false. */
  readonly anyModel?: boolean | undefined;
  /** Seconds without a request after which a model is unloaded. Default: it stays loaded. */
  readonly idleSeconds?: number | undefined;
  /** Whether states of the models' slots are to be saved: those of which they cannot be are not loaded. Default false. */
  readonly savesStates?: boolean | undefined;
  /** Called for a model whose engine died after it had served requests: one that dies unused would only die again. */
  readonly onLost?: ((id: string) => void) | undefined;
}

/** What the pool knows of a model. One that has room is loaded, or about to be. */
class Entry implements Evictable {
  /** In bytes if models are limited by memory, which is measured before it gets room; otherwise 1. */
  size = 1;
  measuring: Promise<number> | undefined;
  /** Shared by everyone who requests it; undefined after it failed or the model was lost or evicted. */
  loading: Promise<TextModel> | undefined;
  /** The disposal of a lost model, which still occupies its room. */
  ending: Promise<void> | undefined;
  model: TextModel | undefined;
  lost: Error | undefined;
  failure: Error | undefined;
  progress = 0;
  users = 0;
  /** Unloads it unless it is used before. */
  sleep: ReturnType<typeof setTimeout> | undefined;
  /** When that will be, in milliseconds since 1970. */
  expires: number | undefined;
  /** Seconds without a request after which it is unloaded, as its latest request wants it. */
  keepSeconds = Number.POSITIVE_INFINITY;
  lastUse = 0;
  /** What requests have changed of its adapters. */
  readonly changes = new AdapterChanges();
  /** The names of its adapters, as far as they are known before it is loaded. */
  adapterNames: ReadonlySet<string>;
  readonly #log: Logger;

  constructor(
    readonly source: ServedModel,
    log: Logger,
  ) {
    this.#log = log;
    this.adapterNames = new Set(source.adapters);
  }

  status(): ModelStatus {
    const { source, model, progress, users, lost, failure, expires } = this;
    const idle = failure ? 'failed' : 'unloaded';
    const state = model ? 'ready' : this.loading ? 'loading' : idle;
    const { id, created } = source;
    return {
      id,
      source,
      created,
      state,
      progress,
      users,
      lost,
      failure,
      model,
      expires,
      adapters: [...this.adapterNames],
    };
  }

  /** The holder of the room opens the model. */
  create(): void {}

  async release(): Promise<void> {
    const { loading } = this;
    this.forget();
    const model = await loading?.catch(() => undefined);
    // It may have become ready meanwhile, though everyone who asked for it has left.
    this.forget();
    if (model) await this.end(model);
    await this.ending;
  }

  /** From here on, the next request loads the model again. */
  forget(): void {
    this.expires = undefined;
    this.loading = undefined;
    this.model = undefined;
    this.progress = 0;
  }

  async end(model: TextModel): Promise<void> {
    const { id } = this.source;
    try {
      await model.dispose();
      this.#log.info('model released', { model: id });
    } catch (error) {
      // Those waiting for the room asked for another model: this is not their failure.
      this.#log.warn('model not released', { model: id, error });
    }
  }
}

/**
 * The served models. Each is loaded when it is first requested, once for all concurrent requests. If that would exceed
 * the limit, the least recently used model is evicted as soon as it is unused. Requests get their models in order of
 * arrival, so that a busy model cannot starve another one. The pool owns the models.
 */
export class ModelPool implements AsyncDisposable {
  #entries: ReadonlyMap<string, Entry>;
  readonly #discover: PoolOptions['discover'];
  #refreshing: Promise<void> | undefined;
  readonly #log: Logger;
  readonly #onLost: (id: string) => void;
  readonly #idleSeconds: number;
  readonly #anyModel: boolean;
  readonly #autoload: boolean;
  readonly #savesStates: boolean;
  readonly #ending = new AbortController();
  /** Maximum memory of loaded models, in bytes. */
  readonly #memory: number | undefined;
  /** Counted in bytes if the memory is limited, otherwise in models. */
  readonly #room: SharedRoom;

  /** Throws `INVALID_ARGUMENT` for two limits. */
  constructor(sources: readonly ServedModel[], { maxModels, logger, onLost, ...more }: PoolOptions) {
    const { memory } = more;
    if (memory !== undefined && maxModels !== undefined) {
      const expected = 'a limit in bytes or in models, not both';
      fail('INVALID_ARGUMENT', { name: 'modelsMemory', found: `and ${maxModels} models`, expected });
    }
    this.#log = logger ?? silentLogger;
    this.#entries = new Map(sources.map((source) => [source.id, new Entry(source, this.#log)]));
    this.#onLost = onLost ?? (() => {});
    this.#idleSeconds = more.idleSeconds ?? Number.POSITIVE_INFINITY;
    this.#anyModel = more.anyModel ?? false;
    this.#autoload = more.autoload ?? true;
    this.#savesStates = more.savesStates ?? false;
    this.#discover = more.discover;
    this.#memory = memory;
    this.#room = new SharedRoom({
      size: memory ?? maxModels ?? Number.POSITIVE_INFINITY,
      waiting: 'the request',
      refuse: () => fail('INTERNAL', { what: 'a pool has room for a model' }),
    });
  }

  /** All models in the order in which they were given. */
  list(): ModelStatus[] {
    return Array.from(this.#entries.values(), (entry) => entry.status());
  }

  /** Throws `MODEL_NOT_FOUND`. */
  statusOf(id: string): ModelStatus {
    return this.#find(id).status();
  }

  /**
   * The model of this name, or the first one that loads if none is given, loaded if need be. Rejects with
   * `MODEL_NOT_FOUND`, `ABORTED`, `MODELS_MEMORY` and `MODEL_NOT_LOADED`, whose cause is the error of opening; the next
   * request then tries again. Where requests load nothing, rejects with `MODEL_UNLOADED` unless `loads` says otherwise.
   */
  async acquire(id: string | undefined, signal?: AbortSignal, loads = this.#autoload): Promise<ModelLease> {
    if (id !== undefined && !this.#known(id)) await this.refresh();
    const isAny = this.#anyModel && id !== undefined && !this.#known(id);
    const entry = this.#find(isAny ? undefined : id);
    if (!loads && !entry.loading) fail('MODEL_UNLOADED', { model: entry.source.id });
    // Queues behind those who wait for room: they may be waiting for this very model to be released.
    await this.#room.turn(signal);
    throwIfAborted(this.#ending.signal, 'the server');
    entry.users++;
    let leave = () => {
      entry.users--;
    };
    try {
      if (this.#memory !== undefined) await this.#measure(entry, this.#memory, signal);
      await this.#room.hold([entry], signal);
      leave = () => {
        entry.users--;
        this.#room.giveBack([entry]);
        this.#rest(entry);
      };
      clearTimeout(entry.sleep);
      entry.expires = undefined;
      entry.keepSeconds = this.#idleSeconds;
      entry.lastUse = this.#room.now();
      entry.loading ??= this.#open(entry);
      const model = await beforeAbort(entry.loading, signal, 'the request');
      const { id: served } = entry.source;
      const name = id !== undefined && model.adapters.has(id) ? id : served;
      return { id: served, name, model, [Symbol.dispose]: once(leave) };
    } catch (error) {
      leave();
      throw error;
    }
  }

  /**
   * Unloads a model; the next request loads it again. Rejects with `MODEL_NOT_FOUND`, and with `MODEL_BUSY` while requests
   * use or await it.
   */
  async unload(id: string): Promise<void> {
    const entry = this.#find(id);
    const isGone = await this.#room.evict(entry);
    if (!isGone && entry.users > 0) fail('MODEL_BUSY', { model: id, requests: entry.users });
  }

  /**
   * How many seconds a model stays loaded after the requests that use it now; the next request ends that. Throws
   * `MODEL_NOT_FOUND`.
   */
  keep(id: string, seconds: number): void {
    const entry = this.#find(id);
    entry.keepSeconds = seconds;
    this.#rest(entry);
  }

  /** Whether there is a model of this name; adapters are none. */
  isModel(id: string): boolean {
    return [...this.#entries.values()].some(({ source }) => source.id === id || source.aliases?.includes(id));
  }

  /**
   * Changes the adapters of a model, also for when it is loaded again. Rejects as `acquire` and as the model's methods.
   */
  async changeAdapters(id: string, change: AdapterChange, signal: AbortSignal): Promise<void> {
    using lease = await this.acquire(id, signal);
    const entry = this.#find(lease.id);
    await changeAdapters(lease.model, change);
    entry.changes.add(change);
    entry.adapterNames = new Set(lease.model.adapters.keys());
  }

  /** Looks for models that were added, removed or replaced. Loaded models stay as they are. Never rejects. */
  async refresh(): Promise<void> {
    this.#refreshing ??= this.#lookAgain().finally(() => {
      this.#refreshing = undefined;
    });
    await this.#refreshing;
  }

  async #lookAgain(): Promise<void> {
    if (!this.#discover) return;
    try {
      const entries = new Map<string, Entry>();
      for (const source of await this.#discover()) {
        const known = this.#entries.get(source.id);
        const stays = known && (known.loading || known.users > 0 || known.source.created === source.created);
        entries.set(source.id, stays ? known : new Entry(source, this.#log));
      }
      for (const [id, entry] of this.#entries) {
        if (!entries.has(id) && (entry.loading || entry.users > 0)) entries.set(id, entry);
        else if (entries.get(id) !== entry) await this.#room.leave(entry);
      }
      this.#entries = entries;
    } catch (error) {
      this.#log.warn('models not looked for', { error });
    }
  }

  /** Ends loads and disposes all models. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort();
    for (const { sleep } of this.#entries.values()) clearTimeout(sleep);
    await Promise.all(Array.from(this.#entries.values(), (entry) => this.#room.leave(entry)));
  }

  /** Unloads a model after a while without users. */
  #rest(entry: Entry): void {
    const { keepSeconds: seconds } = entry;
    clearTimeout(entry.sleep);
    entry.expires = undefined;
    const isSleepless = seconds === Number.POSITIVE_INFINITY || this.#ending.signal.aborted;
    if (entry.users > 0 || !entry.loading || isSleepless) return;
    const ms = timerSpan(seconds);
    entry.expires = Date.now() + ms;
    entry.sleep = setTimeout(() => {
      this.#log.info('model idle', { model: entry.source.id, seconds });
      void this.#room.evict(entry);
    }, ms);
  }

  /** The model of this name, or that has it as another name, or an adapter of this name. */
  #known(id: string): Entry | undefined {
    const model = this.#entries.get(id);
    if (model) return model;
    const entries = [...this.#entries.values()];
    const named = entries.find(({ source }) => source.aliases?.includes(id));
    return named ?? entries.find((entry) => entry.adapterNames.has(id));
  }

  #find(id: string | undefined): Entry {
    const entries = [...this.#entries.values()];
    const first = entries.find(({ failure }) => !failure) ?? entries[0];
    const entry = id === undefined ? first : this.#known(id);
    return (
      entry ??
      fail('MODEL_NOT_FOUND', {
        model: String(id).slice(0, 200),
        known: [...this.#entries.keys()].join(', '),
      })
    );
  }

  /** Finds out how much memory a model takes, once for all who ask. Rejects as `acquire`. */
  async #measure(entry: Entry, limit: number, signal: AbortSignal | undefined): Promise<void> {
    const { source } = entry;
    if (!source.memory) return;
    entry.measuring ??= source.memory(this.#ending.signal).catch((error: unknown) => {
      entry.measuring = undefined;
      return this.#failed(entry, error);
    });
    const size = await beforeAbort(entry.measuring, signal, 'the request');
    if (size > limit) {
      const [needed, most] = [size, limit].map(formatBytes) as [string, string];
      fail('MODELS_MEMORY', { model: source.id, needed, limit: most });
    }
    entry.size = size;
  }

  /** Records that a model cannot be opened, and throws `MODEL_NOT_LOADED`. */
  #failed(entry: Entry, error: unknown): never {
    const { id: model } = entry.source;
    entry.forget();
    throwIfAborted(this.#ending.signal, 'the server');
    const cause = typedError(error);
    entry.failure = cause;
    this.#log.warn('model not loaded', { model, code: cause.code, reason: cause.message });
    // What it says about files concerns only the operator of the server.
    throw new RocmforgeError('MODEL_NOT_LOADED', { model, reason: cause.code }, { cause: error });
  }

  async #open(entry: Entry): Promise<TextModel> {
    const { source, lastUse: since } = entry;
    const { signal } = this.#ending;
    const begin = performance.now();
    try {
      await entry.ending;
      throwIfAborted(signal, 'the server');
      const onProgress = (part: number) => {
        entry.progress = part;
      };
      const model = await source.open({ signal, onProgress });
      void model.lost?.then((error) => this.#lose(entry, { model, error, since }));
      await this.#checkStates(entry, model);
      await this.#adapt(entry, model);
      entry.model = model;
      entry.lost = undefined;
      entry.failure = undefined;
      entry.progress = 1;
      this.#log.info('model loaded', { model: source.id, ms: Math.round(performance.now() - begin) });
      return model;
    } catch (error) {
      return this.#failed(entry, error);
    }
  }

  /** Ends a model that was just opened and whose states are to be saved, but cannot be. */
  async #checkStates(entry: Entry, model: TextModel): Promise<void> {
    if (!this.#savesStates || model.config.pooling) return;
    await checkSavable(model, '--slot-save-path').catch(async (error: unknown) => {
      await entry.end(model);
      throw error;
    });
  }

  /** Prepares the adapters of a model that was just opened. One that cannot be loaded again does not hold up the model. */
  async #adapt(entry: Entry, model: TextModel): Promise<void> {
    const { id } = entry.source;
    const [taken] = [...model.adapters.keys()].filter((name) => this.#entries.has(name));
    if (taken !== undefined) {
      await entry.end(model);
      fail('INVALID_ARGUMENT', { name: 'adapters', found: taken, expected: 'names that no model has' });
    }
    const make = (change: AdapterChange) => changeAdapters(model, change);
    await entry.changes.apply(model, make).catch((error: unknown) => {
      this.#log.warn('adapters not loaded again', { model: id, error });
    });
    entry.adapterNames = new Set(model.adapters.keys());
  }

  /** Unloads a model whose engine died; the next request loads it again. */
  async #lose(
    entry: Entry,
    { model, error, since }: { model: TextModel; error: Error; since: number },
  ): Promise<void> {
    if (entry.model !== model) return;
    this.#log.warn('model lost', { model: entry.source.id, reason: error.message });
    entry.lost = error;
    entry.forget();
    entry.ending = entry.end(model);
    await entry.ending;
    entry.ending = undefined;
    if (entry.lastUse > since) this.#onLost(entry.source.id);
  }
}

/** Runs `work` on the first call only. */
function once(work: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) work();
    isDone = true;
  };
}

import { beforeAbort } from '../base/before-abort.ts';
import { fail, RocmforgeError, throwIfAborted } from '../base/errors.ts';
import { type Logger, silentLogger } from '../base/log.ts';
import { type Evictable, SharedRoom } from '../base/shared-room.ts';
import type { TextModel } from '../engine/text-model.ts';
import { typedError } from './error-response.ts';

/** A model that can be served: its name, and how it is opened when somebody asks for it. */
export interface ServedModel {
  readonly id: string;
  /** When the model was made, in seconds since 1970. */
  readonly created: number;
  /** Opens the model; `onProgress` takes the part that is loaded, from 0 to 1. */
  open(of: { signal: AbortSignal; onProgress: (part: number) => void }): Promise<TextModel>;
}

/** Where a served model stands. */
export interface ModelStatus {
  readonly id: string;
  readonly created: number;
  readonly state: 'unloaded' | 'loading' | 'ready' | 'failed';
  /** The part that is loaded, from 0 to 1. */
  readonly progress: number;
  /** Requests that use or await it. */
  readonly users: number;
  /** Why the engine that it had is gone, until it is loaded again. */
  readonly lost: Error | undefined;
  /** Why it could not be loaded the last time, until it is tried again. */
  readonly failure: Error | undefined;
  /** The model itself while it is ready. */
  readonly model: TextModel | undefined;
}

/** A model that stays loaded until the lease is disposed. */
export interface ModelLease extends Disposable {
  /** The name under which it is served. */
  readonly id: string;
  readonly model: TextModel;
}

/** How a pool is set up. */
interface PoolOptions {
  /** Models that may be loaded at the same time. */
  readonly most: number;
  readonly logger?: Logger | undefined;
  /** Finds out again which models there are. Default: they stay the same. */
  readonly discover?: (() => Promise<readonly ServedModel[]>) | undefined;
  /** Told of a model whose engine died after requests had used it: one that dies unused would die again. */
  readonly onLost?: ((id: string) => void) | undefined;
}

/** What the pool knows of a model. One that has room is loaded, or about to be. */
class Entry implements Evictable {
  readonly size = 1;
  /** Shared by everyone who asks; gone when it failed, the model was lost or evicted. */
  loading: Promise<TextModel> | undefined;
  /** The end of a model that was lost, whose room it still has. */
  ending: Promise<void> | undefined;
  model: TextModel | undefined;
  lost: Error | undefined;
  failure: Error | undefined;
  progress = 0;
  users = 0;
  lastUse = 0;
  readonly #log: Logger;

  constructor(
    readonly source: ServedModel,
    log: Logger,
  ) {
    this.#log = log;
  }

  status(): ModelStatus {
    const { source, model, progress, users, lost, failure } = this;
    const idle = failure ? 'failed' : 'unloaded';
    const state = model ? 'ready' : this.loading ? 'loading' : idle;
    return { id: source.id, created: source.created, state, progress, users, lost, failure, model };
  }

  /** Whoever has it held opens the model. */
  create(): void {}

  async release(): Promise<void> {
    const { loading } = this;
    this.forget();
    const model = await loading?.catch(() => undefined);
    // It may have become ready meanwhile, for those who left.
    this.forget();
    if (model) await this.end(model);
    await this.ending;
  }

  /** From here on, whoever asks for the model loads it anew. */
  forget(): void {
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
      // Whoever needs the room asked for another model: it is none of their failures.
      this.#log.warn('model not released', { model: id, error });
    }
  }
}

/**
 * The served models. One is loaded when it is first asked for, once however many ask; when more would be loaded than may
 * be, the one that was not used for the longest time goes first, as soon as nobody uses it. Requests get their models in the
 * order of asking, so that a busy model cannot keep another one out. The pool owns the models.
 */
export class ModelPool implements AsyncDisposable {
  #entries: ReadonlyMap<string, Entry>;
  readonly #discover: PoolOptions['discover'];
  #refreshing: Promise<void> | undefined;
  readonly #log: Logger;
  readonly #onLost: (id: string) => void;
  readonly #ending = new AbortController();
  /** Counted in models. */
  readonly #room: SharedRoom;

  constructor(sources: readonly ServedModel[], { most, logger, onLost, discover }: PoolOptions) {
    this.#log = logger ?? silentLogger;
    this.#entries = new Map(sources.map((source) => [source.id, new Entry(source, this.#log)]));
    this.#onLost = onLost ?? (() => {});
    this.#discover = discover;
    this.#room = new SharedRoom({
      size: most,
      waiting: 'the request',
      refuse: () => fail('INTERNAL', { what: 'a pool has room for a model' }),
    });
  }

  /** All models in the order they were given. */
  list(): ModelStatus[] {
    return Array.from(this.#entries.values(), (entry) => entry.status());
  }

  /** Throws `MODEL_NOT_FOUND`. */
  statusOf(id: string): ModelStatus {
    return this.#find(id).status();
  }

  /**
   * The model of this name, the first one that could be loaded where none is given, loaded if need be. Rejects with
   * `MODEL_NOT_FOUND`, `ABORTED` and `MODEL_NOT_LOADED`, of which the cause is what opening rejects with; the next who asks
   * tries again then.
   */
  async acquire(id: string | undefined, signal?: AbortSignal): Promise<ModelLease> {
    if (id !== undefined && !this.#entries.has(id)) await this.refresh();
    const entry = this.#find(id);
    // Behind those who wait for room: they may be waiting for this very model to be left.
    await this.#room.turn(signal);
    throwIfAborted(this.#ending.signal, 'the server');
    entry.users++;
    let leave = () => {
      entry.users--;
    };
    try {
      await this.#room.hold([entry], signal);
      leave = () => {
        entry.users--;
        this.#room.giveBack([entry]);
      };
      entry.lastUse = this.#room.now();
      entry.loading ??= this.#open(entry);
      const model = await beforeAbort(entry.loading, signal, 'the request');
      return { id: entry.source.id, model, [Symbol.dispose]: once(leave) };
    } catch (error) {
      leave();
      throw error;
    }
  }

  /** Looks for models that came, went or changed since. What is loaded stays what it is. Never rejects. */
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
    await Promise.all(Array.from(this.#entries.values(), (entry) => this.#room.leave(entry)));
  }

  #find(id: string | undefined): Entry {
    const entries = [...this.#entries.values()];
    const first = entries.find(({ failure }) => !failure) ?? entries[0];
    const entry = id === undefined ? first : this.#entries.get(id);
    return (
      entry ?? fail('MODEL_NOT_FOUND', { model: String(id), known: [...this.#entries.keys()].join(', ') })
    );
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
      entry.model = model;
      entry.lost = undefined;
      entry.failure = undefined;
      entry.progress = 1;
      this.#log.info('model loaded', { model: source.id, ms: Math.round(performance.now() - begin) });
      return model;
    } catch (error) {
      entry.forget();
      throwIfAborted(signal, 'the server');
      const cause = typedError(error);
      entry.failure = cause;
      this.#log.warn('model not loaded', { model: source.id, code: cause.code, reason: cause.message });
      // What it says of files is for who runs the server.
      throw new RocmforgeError(
        'MODEL_NOT_LOADED',
        { model: source.id, reason: cause.code },
        { cause: error },
      );
    }
  }

  /** A model whose engine died is unloaded; the next request loads it again. */
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

/** Does something at the first call alone. */
function once(work: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) work();
    isDone = true;
  };
}

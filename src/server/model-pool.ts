import { beforeAbort } from '../base/before-abort.ts';
import { fail, throwIfAborted } from '../base/errors.ts';
import { type Logger, silentLogger } from '../base/log.ts';
import type { TextModel } from '../engine/text-model.ts';

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
  readonly state: 'unloaded' | 'loading' | 'ready';
  /** The part that is loaded, from 0 to 1. */
  readonly progress: number;
  /** Requests that use or await it. */
  readonly users: number;
  /** Why the engine that it had is gone, until it is loaded again. */
  readonly lost: Error | undefined;
  /** The model itself while it is ready. */
  readonly model: TextModel | undefined;
}

/** A model that stays loaded until the lease is disposed. */
export interface ModelLease extends Disposable {
  /** The name under which it is served. */
  readonly id: string;
  readonly model: TextModel;
}

/** Room for a model that is loaded, or about to be. */
interface Seat {
  readonly entry: Entry;
  /** The pool's clock when it was taken. */
  readonly since: number;
  model: TextModel | undefined;
}

/** How a pool is set up. */
interface PoolOptions {
  /** Models that may be loaded at the same time. */
  readonly most: number;
  readonly logger?: Logger | undefined;
  /** Told of a model whose engine died after requests had used it: one that dies unused would die again. */
  readonly onLost?: ((id: string) => void) | undefined;
}

/** What the pool knows of a model. */
class Entry {
  /** Shared by everyone who asks; gone when it failed or the model was evicted. */
  loading: Promise<TextModel> | undefined;
  model: TextModel | undefined;
  lost: Error | undefined;
  progress = 0;
  users = 0;
  lastUse = 0;

  constructor(readonly source: ServedModel) {}

  status(): ModelStatus {
    const { source, model, progress, users, lost } = this;
    const state = model ? 'ready' : this.loading ? 'loading' : 'unloaded';
    return { id: source.id, created: source.created, state, progress, users, lost, model };
  }

  forget(): void {
    this.loading = undefined;
    this.model = undefined;
    this.progress = 0;
  }
}

/**
 * The served models. One is loaded when it is first asked for, once however many ask; when more would be loaded than may
 * be, the one that was not used for the longest time goes first, as soon as nobody uses it. Requests get their models in the
 * order of asking, so that a busy model cannot keep another one out. The pool owns the models.
 */
export class ModelPool implements AsyncDisposable {
  readonly #entries: ReadonlyMap<string, Entry>;
  readonly #most: number;
  readonly #log: Logger;
  readonly #onLost: (id: string) => void;
  readonly #ending = new AbortController();
  readonly #seats = new Set<Seat>();
  /** Resolves when everyone who asked before has room for its model; one at a time makes room. */
  #room: Promise<void> = Promise.resolve();
  #wake: (() => void) | undefined;
  #clock = 0;

  constructor(sources: readonly ServedModel[], of: PoolOptions) {
    this.#entries = new Map(sources.map((source) => [source.id, new Entry(source)]));
    this.#most = of.most;
    this.#log = of.logger ?? silentLogger;
    this.#onLost = of.onLost ?? (() => {});
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
   * The model of this name, the first one where none is given, loaded if need be. Rejects with `MODEL_NOT_FOUND`, `ABORTED`
   * and what opening rejects with; the next who asks tries again then.
   */
  async acquire(id: string | undefined, signal?: AbortSignal): Promise<ModelLease> {
    const entry = this.#find(id);
    // Not counted as a user yet: whoever makes room may be waiting for this very model to be left.
    await beforeAbort(this.#room, signal, 'the request');
    throwIfAborted(this.#ending.signal, 'the server');
    entry.users++;
    entry.lastUse = ++this.#clock;
    let isHeld = true;
    const release = () => {
      if (!isHeld) return;
      isHeld = false;
      entry.users--;
      this.#wake?.();
    };
    try {
      entry.loading ??= this.#open(entry);
      const model = await beforeAbort(entry.loading, signal, 'the request');
      return { id: entry.source.id, model, [Symbol.dispose]: release };
    } catch (error) {
      release();
      throw error;
    }
  }

  /** Ends loads and disposes all models. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort();
    this.#wake?.();
    const loading = Array.from(this.#entries.values(), async (entry) => entry.loading);
    await Promise.allSettled(loading);
    await Promise.all(Array.from(this.#seats, (seat) => this.#evict(seat)));
  }

  #find(id: string | undefined): Entry {
    const [first] = this.#entries.values();
    const entry = id === undefined ? first : this.#entries.get(id);
    return (
      entry ?? fail('MODEL_NOT_FOUND', { model: String(id), known: [...this.#entries.keys()].join(', ') })
    );
  }

  async #open(entry: Entry): Promise<TextModel> {
    const { source } = entry;
    const { signal } = this.#ending;
    const begin = performance.now();
    const seat: Seat = { entry, since: this.#clock, model: undefined };
    try {
      this.#room = this.#room.then(() => this.#makeRoom(seat));
      await this.#room;
      throwIfAborted(signal, 'the server');
      const onProgress = (part: number) => {
        entry.progress = part;
      };
      const model = await source.open({ signal, onProgress });
      seat.model = model;
      void model.lost?.then((error) => this.#lose(seat, error));
      entry.model = model;
      entry.lost = undefined;
      entry.progress = 1;
      this.#log.info('model loaded', { model: source.id, ms: Math.round(performance.now() - begin) });
      return model;
    } catch (error) {
      entry.forget();
      this.#leave(seat);
      throw error;
    }
  }

  /** Evicts models that nobody uses until there is room for one more. */
  async #makeRoom(seat: Seat): Promise<void> {
    while (this.#seats.size >= this.#most && !this.#ending.signal.aborted) {
      const idle = [...this.#seats].filter(({ model, entry }) => model && entry.users === 0);
      const [oldest] = idle.sort((a, b) => a.entry.lastUse - b.entry.lastUse);
      if (oldest) await this.#evict(oldest);
      else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
    this.#seats.add(seat);
  }

  /** A model whose engine died is unloaded; the next request loads it again. */
  async #lose(seat: Seat, error: Error): Promise<void> {
    const { entry, since } = seat;
    if (entry.model !== seat.model) return;
    this.#log.warn('model lost', { model: entry.source.id, reason: error.message });
    entry.lost = error;
    await this.#evict(seat);
    if (entry.lastUse > since) this.#onLost(entry.source.id);
  }

  /** From here on, whoever asks for the model loads it anew. */
  async #evict(seat: Seat): Promise<void> {
    const { entry, model } = seat;
    const { id } = entry.source;
    entry.forget();
    try {
      await model?.dispose();
      this.#log.info('model released', { model: id });
    } catch (error) {
      // Whoever makes room asked for another model: it is none of their failures.
      this.#log.warn('model not released', { model: id, error });
    } finally {
      this.#leave(seat);
    }
  }

  #leave(seat: Seat): void {
    this.#seats.delete(seat);
    this.#wake?.();
  }
}

import { type Signal, signal } from '@preact/signals';
import type { BrowserLoadProgress, BrowserModel, ModelLocation } from '../../src/browser/index.ts';
import { BrowserEngine } from './browser-engine.ts';
import type { ChatEngine } from './engine.ts';
import type { SettingValues } from './settings.ts';

/** The model to load, and its title. */
export interface LoadRequest {
  readonly location: ModelLocation;
  readonly title: string;
  readonly sha256?: string;
}

/** The library, which is loaded with the first model: the served model needs none of it. */
export const library = () => import('../../src/browser/index.ts');

/** The state of the page's model. */
export type SessionStatus =
  | { readonly kind: 'empty' }
  | {
      readonly kind: 'loading';
      readonly title: string;
      readonly progress: BrowserLoadProgress | undefined;
      /** Why nothing arrives: the person wants it so, or the connection was lost and is tried again. */
      readonly pause?: 'asked' | 'lost';
    }
  | { readonly kind: 'ready'; readonly title: string; readonly engine: ChatEngine }
  | { readonly kind: 'failed'; readonly title: string; readonly error: unknown };

/** What fails when a connection breaks and stays so; what has arrived is kept. */
const LOST: readonly unknown[] = ['READ_FAILED', 'READ_SHORT', 'SOURCE_UNAVAILABLE'];

/** How long a lost connection is left alone, in milliseconds; the browser may tell sooner that it is back. */
const RETRY_MS = 10_000;

/** The page's model, in this browser or on the server; there is at most one. */
export class ModelSession {
  readonly status = signal<SessionStatus>({ kind: 'empty' });
  readonly #settings: Signal<SettingValues>;
  #request: LoadRequest | undefined;
  #loading: AbortController | undefined;
  #pausing = false;
  /** Ends the waiting for a lost connection. */
  #stopWaiting: () => void = () => {};
  #ended: Promise<void> = Promise.resolve();
  #model: BrowserModel | undefined;

  constructor(settings: Signal<SettingValues>) {
    this.#settings = settings;
  }

  /** Loads a model in place of the current one. Never rejects: the status shows the result. */
  async load(request: LoadRequest): Promise<void> {
    this.#stopWaiting();
    this.#loading?.abort();
    const loading = new AbortController();
    this.#loading = loading;
    this.#request = request;
    this.#pausing = false;
    this.status.value = { kind: 'loading', title: request.title, progress: undefined };
    // A load in progress still has its file open, which may be the same one.
    const before = this.#ended;
    this.#ended = before.then(() => this.#load(request, loading));
    await this.#ended;
  }

  /** Uses a model of the server in place of the current one. */
  async use(engine: ChatEngine): Promise<void> {
    this.#stopWaiting();
    this.#loading?.abort();
    this.#loading = undefined;
    this.#request = undefined;
    this.status.value = { kind: 'ready', title: engine.title, engine };
    this.#ended = this.#ended.then(() => this.#release());
    await this.#ended;
  }

  /** Loads the model again with the current settings; a model of the server has none of them. */
  async reload(): Promise<void> {
    if (this.#request) await this.load(this.#request);
  }

  /** Cancels loading; downloaded data stays. */
  cancel(): void {
    const { value: status } = this.status;
    this.#stopWaiting();
    this.#loading?.abort();
    if (status.kind === 'loading' && status.pause !== undefined) this.status.value = { kind: 'empty' };
  }

  /** Stops a download for now; `reload` goes on with it. */
  pause(): void {
    this.#pausing = true;
    this.#loading?.abort();
  }

  async #load({ title, location, sha256 }: LoadRequest, loading: AbortController): Promise<void> {
    const { signal } = loading;
    try {
      await this.#release();
      signal.throwIfAborted();
      const { context, cacheType, device, keep } = this.#settings.value;
      let arriving = false;
      const onProgress = (progress: BrowserLoadProgress) => {
        const isArrival = progress.phase === 'checking' || progress.phase === 'downloading';
        if (isArrival) arriving = progress.bytes !== progress.totalBytes;
        // Progress on the device means little while the rest is still downloading.
        if (signal.aborted || (arriving && !isArrival)) return;
        this.status.value = { kind: 'loading', title, progress };
      };
      const { loadModel, support } = await library();
      // Some browsers have nowhere to keep a model, which they can run all the same.
      const { storage } = await support();
      const kept = { context, cacheType, device, keep: keep && storage.available } as const;
      const options = { ...kept, load: 'eager', sha256, signal, onProgress } as const;
      const model = await loadModel(location, options);
      // Loading was cancelled after the worker had sent its last message.
      if (signal.aborted) await model.dispose();
      signal.throwIfAborted();
      this.#model = model;
      this.status.value = { kind: 'ready', title, engine: new BrowserEngine(title, model) };
    } catch (error) {
      if (this.#loading !== loading) return;
      const { value: status } = this.status;
      const progress = status.kind === 'loading' ? status.progress : undefined;
      const hadBegun = progress?.phase === 'downloading' || progress?.phase === 'checking';
      if (signal.aborted && this.#pausing) {
        this.status.value = { kind: 'loading', title, progress, pause: 'asked' };
      } else if (signal.aborted) this.status.value = { kind: 'empty' };
      else if (hadBegun && LOST.includes((error as { readonly code?: unknown }).code)) {
        this.status.value = { kind: 'loading', title, progress, pause: 'lost' };
        this.#awaitConnection();
      } else this.status.value = { kind: 'failed', title, error };
    }
  }

  /** Goes on when the browser says that it is online again, or after a while: a server may be back without that. */
  #awaitConnection(): void {
    const goOn = () => void this.reload();
    const timer = setTimeout(goOn, RETRY_MS);
    addEventListener('online', goOn, { once: true });
    this.#stopWaiting = () => {
      clearTimeout(timer);
      removeEventListener('online', goOn);
      this.#stopWaiting = () => {};
    };
  }

  async #release(): Promise<void> {
    const model = this.#model;
    this.#model = undefined;
    await model?.dispose();
  }
}

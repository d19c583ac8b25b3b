import { type Signal, signal } from '@preact/signals';
import {
  type BrowserLoadProgress,
  type BrowserModel,
  loadModel,
  type ModelLocation,
} from '../../src/browser/index.ts';
import type { SettingValues } from './settings.ts';

/** What is to be loaded, and what it is called. */
export interface LoadRequest {
  readonly location: ModelLocation;
  readonly title: string;
  readonly sha256?: string;
}

/** Where the page's model stands. */
export type SessionStatus =
  | { readonly kind: 'empty' }
  | {
      readonly kind: 'loading';
      readonly title: string;
      readonly progress: BrowserLoadProgress | undefined;
    }
  | { readonly kind: 'ready'; readonly title: string; readonly model: BrowserModel; readonly context: number }
  | { readonly kind: 'failed'; readonly title: string; readonly error: unknown };

/** The one model of the page. */
export class ModelSession {
  readonly status = signal<SessionStatus>({ kind: 'empty' });
  readonly #settings: Signal<SettingValues>;
  #request: LoadRequest | undefined;
  #loading: AbortController | undefined;
  #ended: Promise<void> = Promise.resolve();
  #model: BrowserModel | undefined;

  constructor(settings: Signal<SettingValues>) {
    this.#settings = settings;
  }

  /** Loads a model in the place of the one that is there. Never rejects: the status says how it went. */
  async load(request: LoadRequest): Promise<void> {
    this.#loading?.abort();
    const loading = new AbortController();
    this.#loading = loading;
    this.#request = request;
    this.status.value = { kind: 'loading', title: request.title, progress: undefined };
    // What is loading still has its file open, which may be the one that is wanted now.
    const before = this.#ended;
    this.#ended = before.then(() => this.#load(request, loading));
    await this.#ended;
  }

  /** Loads it again, as the settings are now. */
  async reload(): Promise<void> {
    if (this.#request) await this.load(this.#request);
  }

  /** Ends the loading; what was downloaded stays. */
  cancel(): void {
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
        // What is on the device already says little while the rest is still on its way.
        if (signal.aborted || (arriving && !isArrival)) return;
        this.status.value = { kind: 'loading', title, progress };
      };
      const kept = { context, cacheType, device, keep } as const;
      const options = { ...kept, load: 'eager', sha256, signal, onProgress } as const;
      const model = await loadModel(location, options);
      // It was cancelled while its last message was on its way.
      if (signal.aborted) await model.dispose();
      signal.throwIfAborted();
      this.#model = model;
      this.status.value = { kind: 'ready', title, model, context };
    } catch (error) {
      if (this.#loading !== loading) return;
      this.status.value = signal.aborted ? { kind: 'empty' } : { kind: 'failed', title, error };
    }
  }

  async #release(): Promise<void> {
    const model = this.#model;
    this.#model = undefined;
    await model?.dispose();
  }
}

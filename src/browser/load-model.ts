import { RocmforgeError } from '../base/errors.ts';
import { checkOptions, type OptionNames } from '../base/options.ts';
import { CallClient } from '../calls/index.ts';
import { BrowserModel } from './browser-model.ts';
import {
  type BrowserLoadProgress,
  type EngineCalls,
  SENDABLE_OPTIONS,
  type SendableOptions,
} from './engine-calls.ts';
import type { BrowserDeviceRequest } from './open-device.ts';
import type { SourceLocation } from './open-source.ts';
import type { StoredModel } from './store/model-store.ts';
import { BrowserWorker } from './worker-host.ts';

/** An address (relative ones to the page), a file of the user's, the files of a split model, or one of `ModelStore.list`. */
export type ModelLocation = string | URL | File | readonly File[] | Pick<StoredModel, 'id'>;

/** How a model is loaded in a browser. */
export interface BrowserLoadOptions extends SendableOptions, BrowserDeviceRequest {
  /**
   * Whether the model is kept in the browser's storage, from where it is loaded the next time without its server or file.
   * Default true. A model that is not kept is read by ranges, in the order and as often as it is needed.
   */
  readonly keep?: boolean | undefined;
  /** What the file must have, in hexadecimal. Whatever is kept is hashed, with this or without. */
  readonly sha256?: string | undefined;
  /** Headers of every request, such as an authorization. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Is told how far the download and the load have come. */
  readonly onProgress?: ((progress: BrowserLoadProgress) => void) | undefined;
}

const LOAD_OPTIONS: OptionNames<BrowserLoadOptions> = {
  ...SENDABLE_OPTIONS,
  device: true,
  threads: true,
  keep: true,
  sha256: true,
  headers: true,
  onProgress: true,
};

/**
 * Starts a worker and loads a model into it, while it still downloads. The model is given out when the download is whole and
 * has the hash that it should have. Dispose it when done. Rejects as Node's `loadModel`, and with `STORAGE_…`,
 * `MODEL_NOT_STORED`, `MODEL_IN_USE`, `HASH_MISMATCH` or `WORKER_LOST`, nothing left open; what was downloaded stays, for the
 * next attempt to go on from, unless it is no model or has another hash.
 */
export async function loadModel(
  location: ModelLocation,
  options: BrowserLoadOptions = {},
): Promise<BrowserModel> {
  checkOptions('loadModel', options, LOAD_OPTIONS);
  const { signal, onProgress, ...sent } = options;
  if (options.keep !== false) await askToPersist();
  const worker = new Worker(new URL('./engine-worker.js', import.meta.url), {
    type: 'module',
    name: 'rocmforge engine',
  });
  const client = new CallClient<EngineCalls>(new BrowserWorker(worker));
  try {
    const request = { location: locate(location), options: sent };
    if (onProgress) watch(client, onProgress);
    return new BrowserModel(client, await client.call('open', request, signal));
  } catch (error) {
    await client.end(new RocmforgeError('DISPOSED', { what: 'the model' }));
    throw error;
  }
}

/** Loading goes on when the model is given out, and so does its progress. A failure is told by what fails. */
function watch(client: CallClient<EngineCalls>, onProgress: (progress: BrowserLoadProgress) => void): void {
  client.begin('progress', undefined, { value: onProgress, done: () => {}, failed: () => {} });
}

function locate(location: ModelLocation): SourceLocation {
  if (typeof location === 'string' || location instanceof URL) {
    return { kind: 'url', url: new URL(location, globalThis.location.href).href };
  }
  if (location instanceof File) return { kind: 'files', files: [location] };
  return 'id' in location ? { kind: 'stored', id: location.id } : { kind: 'files', files: location };
}

/** Asks that models outlast a short disk. The browser may say no, or ask the user; models are kept as long as it likes then. */
async function askToPersist(): Promise<void> {
  const { storage } = navigator as Partial<Pick<Navigator, 'storage'>>;
  if (await storage?.persisted()) return;
  // Nobody waits for the answer: it changes nothing about the loading.
  void storage?.persist();
}

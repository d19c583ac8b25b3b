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
import { startWorker } from './start-worker.ts';
import { BrowserWorker } from './worker-host.ts';

/**
 * A URL (possibly relative to the page), a file of the user's, the files of a split model, or an entry of
 * `ModelStore.list`.
 */
export type ModelLocation = string | URL | File | readonly File[] | Pick<StoredModel, 'id'>;

/** How a model is loaded in a browser. */
export interface BrowserLoadOptions extends SendableOptions, BrowserDeviceRequest {
  /**
   * Whether the model is kept in the browser's storage, from which it is loaded the next time without its server or
   * file. Default true. Otherwise it is read with range requests, as needed and as often as needed.
   */
  readonly keep?: boolean | undefined;
  /** The expected hash, in hexadecimal. Whatever is kept is hashed in any case. */
  readonly sha256?: string | undefined;
  /** Headers for every request, such as an authorization. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Called with the progress of the download and of loading. */
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
 * Starts a worker and loads a model into it while it downloads. Resolves once the download is complete and has the
 * expected hash. Dispose the model when done. Rejects like Node's `loadModel`, and with `STORAGE_…`,
 * `MODEL_NOT_STORED`, `MODEL_IN_USE`, `HASH_MISMATCH` or `WORKER_LOST`, leaving nothing open; downloaded data stays, so
 * that the next attempt can continue, unless it is not a model or has another hash.
 */
export async function loadModel(
  location: ModelLocation,
  options: BrowserLoadOptions = {},
): Promise<BrowserModel> {
  checkOptions('loadModel', options, LOAD_OPTIONS);
  const { signal, onProgress, ...sent } = options;
  if (options.keep !== false) await askToPersist();
  const name = 'rocmforge engine';
  const worker = startWorker(
    () => new Worker(new URL('./engine-worker.js', import.meta.url), { type: 'module', name }),
    { script: 'engine-worker.js', beside: import.meta.url, name },
  );
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

/**
 * Loading may continue after the model is returned, and so does progress. Errors are reported by the call that fails.
 */
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

/**
 * Requests persistent storage. The browser may refuse, or ask the user; without it, models are kept at the browser's
 * discretion.
 */
async function askToPersist(): Promise<void> {
  const { storage } = navigator as Partial<Pick<Navigator, 'storage'>>;
  if (await storage?.persisted()) return;
  // Not awaited: loading does not depend on the answer.
  void storage?.persist();
}

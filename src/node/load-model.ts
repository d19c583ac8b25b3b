import type { BlockDecoder } from '../device/index.ts';
import { LanguageModel, type ModelOptions } from '../engine/language-model.ts';
import type { Residency } from '../load/residency.ts';
import { ALL_ARCHITECTURES } from '../model/architectures/index.ts';
import { type DeviceRequest, openDevice, reopenDevice } from './devices.ts';
import { type AdapterOptions, openAdapters } from './open-adapters.ts';
import { openGguf } from './open-gguf.ts';

/** How a model is loaded from a path or an address. */
export interface LoadModelOptions extends ModelOptions, DeviceRequest, AdapterOptions {
  /** Memory of a device that is shared with other models; no device is opened then. */
  readonly residency?: Residency | undefined;
}

/**
 * Opens a GGUF file (a path or an http(s) address; any part of a split model), opens a device and loads the model onto it.
 * Dispose the model when done: it owns both, the device unless it is shared. A device of its own that is lost is opened
 * again. Rejects with the typed errors of `GgufFile.open`, `openDevice` and
 * `LanguageModel.open`, nothing left open.
 */
export async function loadModel(location: string, options: LoadModelOptions = {}): Promise<LanguageModel> {
  const { signal, logger, threads, residency } = options;
  const opened: AsyncDisposable[] = [];
  const keep = <T extends AsyncDisposable>(resource: T): T => {
    opened.unshift(resource);
    return resource;
  };
  try {
    const gguf = keep(await openGguf(location, { ...(signal && { signal }), ...(logger && { logger }) }));
    const adapters = await openAdapters(gguf, options, signal);
    const decodes = (options.weights ?? 'blocks') !== 'blocks';
    const decoder = decodes ? keep(await decoderOn(threads)) : undefined;
    const shared = residency?.device;
    const device = shared ?? keep(await openDevice(options));
    const reopen = shared ? undefined : () => reopenDevice(device.info, options);
    const owned = { gguf, device, decoder, reopen, residency };
    const parts = { ...owned, ...adapters, architectures: ALL_ARCHITECTURES };
    return await LanguageModel.open(parts, options);
  } catch (error) {
    for (const resource of opened) await resource[Symbol.asyncDispose]();
    throw error;
  }
}

/** Its code, the CPU device's, is read where it is wanted. */
async function decoderOn(threads: number | undefined): Promise<BlockDecoder> {
  const { openDecoder } = await import('./open-cpu.ts');
  return openDecoder({ threads });
}

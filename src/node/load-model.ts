import { LanguageModel, type ModelOptions } from '../engine/language-model.ts';
import { ALL_ARCHITECTURES } from '../model/architectures/index.ts';
import { type DeviceRequest, openDevice, reopenDevice } from './devices.ts';
import { openDecoder } from './open-cpu.ts';
import { openGguf } from './open-gguf.ts';

/** How a model is loaded from a path or an address. */
export interface LoadModelOptions extends ModelOptions, DeviceRequest {}

/**
 * Opens a GGUF file (a path or an http(s) address; any part of a split model), opens a device and loads the model onto it.
 * Dispose the model when done: it owns both. A device that is lost is opened again. Rejects with the typed errors of `GgufFile.open`, `openDevice` and
 * `LanguageModel.open`, nothing left open.
 */
export async function loadModel(location: string, options: LoadModelOptions = {}): Promise<LanguageModel> {
  const { signal, logger, threads } = options;
  const opened: AsyncDisposable[] = [];
  const keep = <T extends AsyncDisposable>(resource: T): T => {
    opened.unshift(resource);
    return resource;
  };
  try {
    const gguf = keep(await openGguf(location, { ...(signal && { signal }), ...(logger && { logger }) }));
    const decodes = (options.weights ?? 'blocks') !== 'blocks';
    const decoder = decodes ? keep(await openDecoder({ threads })) : undefined;
    const device = keep(await openDevice(options));
    const reopen = () => reopenDevice(device.info, options);
    const parts = { gguf, device, decoder, reopen, architectures: ALL_ARCHITECTURES };
    return await LanguageModel.open(parts, options);
  } catch (error) {
    for (const resource of opened) await resource[Symbol.asyncDispose]();
    throw error;
  }
}

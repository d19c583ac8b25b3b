import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { BYTES, checkValues, FLAG, FUNCTION, objectWith, type ValueKinds } from '../base/option-values.ts';
import { checkOptions, type OptionNames } from '../base/options.ts';
import type { BlockDecoder, Device } from '../device/index.ts';
import type { LanguageModel, ModelOptions } from '../engine/language-model.ts';
import { MODEL_OPTIONS, MODEL_VALUES } from '../engine/option-names.ts';
import type { GgufFile } from '../gguf/index.ts';
import type { SharedDeviceMemory } from '../load/shared-device-memory.ts';
import type { Tokenizer } from '../text/index.ts';
import { beginDevice, DEVICE_REQUEST, type DeviceRequest, reopenDevice } from './devices.ts';
import { hostMemoryOf } from './host-memory.ts';
import type { AdapterOptions, OpenedAdapters } from './open-adapters.ts';
import { DRAFT_REQUEST, type DraftRequest, openDraft } from './open-draft.ts';
import type { PullProgress } from './hub/index.ts';
import { locateModel } from './locate-model.ts';
import { openGguf } from './open-gguf.ts';
import { repositorySampling } from './repository-sampling.ts';

/** Options for loading a model from a path or a URL. */
export interface LoadModelOptions extends Omit<ModelOptions, 'hostMemory'>, DeviceRequest, AdapterOptions {
  /** Device memory that is shared with other models; no device is opened then. */
  readonly sharedMemory?: SharedDeviceMemory | undefined;
  readonly draft?: DraftRequest | undefined;
  /**
   * Host memory, in bytes, that may stay pinned for this model's streamed layers; 0 for none. Default: half of the
   * available memory, for all models of the process together.
   */
  readonly hostMemory?: number | undefined;
  /** HTTP headers for requests for the model's files, such as an authorization. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Called while a model that is named (`hf:user/repo`) and not on this machine is downloaded. */
  readonly onPull?: ((progress: PullProgress) => void) | undefined;
}

/** The names of `LoadModelOptions`. */
export const LOAD_MODEL_OPTIONS: OptionNames<LoadModelOptions> = {
  ...MODEL_OPTIONS,
  ...DEVICE_REQUEST,
  sharedMemory: true,
  adapters: true,
  mergeAdapters: true,
  maxAdapters: true,
  maxAdapterRank: true,
  controlVectors: true,
  controlVectorLayers: true,
  draft: true,
  headers: true,
  onPull: true,
};

/** What options are, where nothing finer is checked later. */
const VALUES: ValueKinds<LoadModelOptions> = {
  ...(MODEL_VALUES as ValueKinds<LoadModelOptions>),
  hostMemory: BYTES,
  mergeAdapters: FLAG,
  adapters: objectWith('an object of locations by name'),
  headers: objectWith('an object of texts by name'),
  sharedMemory: {
    expected: 'a SharedDeviceMemory',
    is: (value) => typeof (value as Partial<SharedDeviceMemory>).memory === 'number',
  },
  onPull: FUNCTION,
};

/** The options for `LanguageModel`. Throws `OPTION_UNKNOWN` or `INVALID_ARGUMENT`. */
export function modelOptionsOf(options: LoadModelOptions): ModelOptions {
  checkOptions('loadModel', options, LOAD_MODEL_OPTIONS);
  checkOptions('draft', options.draft, DRAFT_REQUEST);
  checkValues(options, VALUES);
  const own = Object.entries(options).filter(([name]) => Object.hasOwn(MODEL_OPTIONS, name));
  const speculation = options.draft?.tokens ?? options.speculation;
  return { ...Object.fromEntries(own), speculation, hostMemory: hostMemoryOf(options.hostMemory) };
}

/**
 * Opens a GGUF file, opens a device and loads the model onto it. The location is a path, an http(s) URL (of a split model any
 * part), or a model's name (`hf:user/repo:Q4_K_M`, `ollama:name`), which is found in the cache or pulled;
 * without one, it is the small model that comes with the package.
 * Dispose the model when done: it owns both, except for a shared device. Its own device is reopened after a loss.
 * Rejects with the typed errors of `GgufFile.open`, `openDevice` and `LanguageModel.open`, leaving nothing open.
 */
export async function loadModel(location?: string, options: LoadModelOptions = {}): Promise<LanguageModel> {
  // Memory that models share is for more of them.
  const model = modelOptionsOf({ ...(options.sharedMemory && { dequantized: false }), ...options });
  // An object of this device's own, which is opened again with it; the caller may use its options for other models.
  const request: DeviceRequest = { ...options };
  const { signal, logger, threads, sharedMemory, headers } = options;
  const path = await locateModel(location, options);
  const shared = sharedMemory && Promise.resolve(sharedMemory.device);
  // A driver starts on its own thread; meanwhile the rest of the code and the file are loaded, and the model is
  // compiled.
  const opening = shared ? { described: shared, opened: shared } : beginDevice(request);
  opening.opened.catch(() => {});
  const opened: AsyncDisposable[] = [];
  const keep = <T extends AsyncDisposable>(resource: T): T => {
    opened.unshift(resource);
    return resource;
  };
  try {
    const gguf = keep(
      await openGguf(path, {
        http: { ...(headers && { headers }) },
        ...(signal && { signal }),
        ...(logger && { logger }),
      }),
    );
    const adapters = await adaptersOf(gguf, options);
    const { decodesOnHost } = await import('../plan/parts/plan-options.ts');
    const decoder = decodesOnHost(options, gguf) ? keep(await decoderOn(threads)) : undefined;
    const { LanguageModel } = await import('../engine/language-model.ts');
    const { ALL_ARCHITECTURES: architectures } = await import('../model/architectures/index.ts');
    const tokenizer = await tokenizerOf(gguf);
    const sampling = await repositorySampling(path, logger);
    const source = { gguf, decoder, sharedMemory, ...adapters, architectures, tokenizer, sampling };
    // The effect of a draft model is known once it is open.
    const described = options.draft ? undefined : await opening.described;
    const compiling = described && LanguageModel.compile({ ...source, device: described }, model);
    compiling?.catch(() => {});
    const device = await withOwnFiles(await opening.opened, { gguf, path }, options);
    const compiled = device === described ? compiling : undefined;
    const again = async () => withOwnFiles(await reopenDevice(device.info, request), { gguf, path }, options);
    const reopen = shared ? undefined : again;
    const draft = options.draft && (await openDraft(options.draft, options));
    const { sharedConstraints } = await import('./constraints.ts');
    const openFile = (file: string) => openGguf(file, { http: { ...(headers && { headers }) } });
    const parts = { ...source, device, reopen, draft, compiled, openFile, constraints: sharedConstraints() };
    return await LanguageModel.open(parts, model);
  } catch (error) {
    if (!shared) await opening.opened.then((device) => device[Symbol.asyncDispose]()).catch(() => {});
    for (const resource of opened) await resource[Symbol.asyncDispose]();
    throw error;
  }
}

/** The device, with the model's file for those of its workers that have a copy. Rejects as `useOwnFiles`, without the device. */
async function withOwnFiles(
  device: Device,
  { gguf, path }: { readonly gguf: GgufFile; readonly path: string },
  { workers }: DeviceRequest,
): Promise<Device> {
  if (workers === undefined) return device;
  const { useOwnFiles } = await import('./open-workers.ts');
  try {
    await useOwnFiles(device, { gguf, path: existsSync(path) ? resolve(path) : undefined });
    return device;
  } catch (error) {
    await device[Symbol.asyncDispose]();
    throw error;
  }
}

/** Their code is loaded only if there are any. */
async function adaptersOf(gguf: GgufFile, options: LoadModelOptions): Promise<OpenedAdapters> {
  const { adapters, maxAdapters, controlVectors, controlVectorLayers } = options;
  const asked = [adapters, maxAdapters, controlVectors, controlVectorLayers];
  if (asked.every((of) => of === undefined)) return {};
  const { openAdapters } = await import('./open-adapters.ts');
  return openAdapters(gguf, options);
}

/**
 * Undefined if the file has no usable tokenizer: its model runs on token ids, and reports the problem when it is given
 * text.
 */
export async function tokenizerOf({ metadata }: GgufFile): Promise<Tokenizer | undefined> {
  const { createTokenizer } = await import('../text/index.ts');
  try {
    const tokenizer = createTokenizer(metadata);
    // Builds the tables ahead of the first text.
    tokenizer.encode('a');
    return tokenizer;
  } catch {
    return undefined;
  }
}

/** The code of the CPU device is loaded only if needed. */
async function decoderOn(threads: number | undefined): Promise<BlockDecoder> {
  const { openDecoder } = await import('./open-cpu.ts');
  return openDecoder({ threads });
}

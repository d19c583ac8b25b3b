import { fail } from '../base/errors.ts';
import type { BlockDecoder } from '../device/index.ts';
import type { DraftModel, DraftSource } from '../engine/draft-model.ts';
import type { LanguageModel, ModelOptions } from '../engine/language-model.ts';
import type { GgufFile } from '../gguf/index.ts';
import type { Residency } from '../load/residency.ts';
import type { AdapterSet } from '../model/lora/adapter-set.ts';
import type { LoraAdapter } from '../model/lora/lora-adapter.ts';
import type { Tokenizer } from '../text/index.ts';
import { type DeviceRequest, openDevice, reopenDevice } from './devices.ts';
import { openGguf } from './open-gguf.ts';

/** A smaller model of the same vocabulary that proposes tokens, which the model only checks. */
export interface DraftRequest {
  /** Its file: a path or an http(s) address. */
  readonly path?: string | undefined;
  /** An open model instead, which stays the caller's. It had better generate as many sequences at once as this one. */
  readonly model?: LanguageModel | undefined;
  /** Tokens that it proposes at once. Default 4. */
  readonly tokens?: number | undefined;
  /** A device of its own for the file, as `openDevice` takes it. Default: it shares the model's. */
  readonly device?: string | undefined;
}

/** How a model is loaded from a path or an address. */
export interface LoadModelOptions extends ModelOptions, DeviceRequest {
  /** Memory of a device that is shared with other models; no device is opened then. */
  readonly residency?: Residency | undefined;
  /** LoRA adapters in GGUF that requests may name: paths or addresses by name. */
  readonly adapters?: Readonly<Record<string, string>> | undefined;
  readonly draft?: DraftRequest | undefined;
}

/**
 * Opens a GGUF file (a path or an http(s) address; any part of a split model), opens a device and loads the model onto it.
 * Dispose the model when done: it owns both, the device unless it is shared. A device of its own that is lost is opened
 * again. Rejects with the typed errors of `GgufFile.open`, `openDevice` and
 * `LanguageModel.open`, nothing left open.
 */
export async function loadModel(location: string, options: LoadModelOptions = {}): Promise<LanguageModel> {
  const { signal, logger, threads, residency } = options;
  const shared = residency?.device;
  // A driver starts on a thread of its own: the rest of our code and the file are read meanwhile.
  const opening = shared ? Promise.resolve(shared) : openDevice(options);
  opening.catch(() => {});
  const opened: AsyncDisposable[] = [];
  const keep = <T extends AsyncDisposable>(resource: T): T => {
    opened.unshift(resource);
    return resource;
  };
  try {
    const gguf = keep(await openGguf(location, { ...(signal && { signal }), ...(logger && { logger }) }));
    const adapters = await openAdapters(gguf, options);
    const decodes = (options.weights ?? 'blocks') !== 'blocks' || options.embedding === 'host';
    const decoder = decodes ? keep(await decoderOn(threads)) : undefined;
    const { LanguageModel } = await import('../engine/language-model.ts');
    const { ALL_ARCHITECTURES: architectures } = await import('../model/architectures/index.ts');
    const tokenizer = await tokenizerOf(gguf);
    const device = await opening;
    const reopen = shared ? undefined : () => reopenDevice(device.info, options);
    const draft = options.draft && (await openDraft(options.draft, options));
    const own = { gguf, device, decoder, reopen, residency, adapters, draft };
    const speculation = options.draft?.tokens ?? options.speculation;
    return await LanguageModel.open({ ...own, architectures, tokenizer }, { ...options, speculation });
  } catch (error) {
    if (!shared) await opening.then((device) => device[Symbol.asyncDispose]()).catch(() => {});
    for (const resource of opened) await resource[Symbol.asyncDispose]();
    throw error;
  }
}

/**
 * What the draft of a model is opened from, or the open one. Rejects with `INVALID_ARGUMENT` where neither or both are given,
 * and as `loadModel`.
 */
export async function openDraft(
  { path, model, device: name }: DraftRequest,
  { signal, logger, threads }: Pick<LoadModelOptions, 'signal' | 'logger' | 'threads'>,
): Promise<DraftModel | DraftSource> {
  if (model && path === undefined) return model;
  if (model || path === undefined) {
    const found = model ? 'both' : 'neither';
    return fail('INVALID_ARGUMENT', { name: 'draft', found, expected: 'a path or an open model' });
  }
  const gguf = await openGguf(path, { ...(signal && { signal }), ...(logger && { logger }) });
  if (name === undefined) return { gguf };
  const request = { device: name, threads, logger };
  try {
    const device = await openDevice(request);
    return { gguf, device, reopen: () => reopenDevice(device.info, request) };
  } catch (error) {
    await gguf.dispose();
    throw error;
  }
}

/** Reads adapters into memory, their files closed again; undefined where there are none. */
async function openAdapters(
  base: GgufFile,
  { adapters = {}, signal }: LoadModelOptions,
): Promise<AdapterSet | undefined> {
  const names = Object.entries(adapters);
  if (names.length === 0) return undefined;
  const { AdapterSet } = await import('../model/lora/adapter-set.ts');
  const { LoraAdapter } = await import('../model/lora/lora-adapter.ts');
  const tensors = new Map(base.tensors.map((tensor) => [tensor.name, tensor]));
  const architecture = base.metadata.string('general.architecture') ?? '';
  const files: GgufFile[] = [];
  try {
    const read: LoraAdapter[] = [];
    for (const [name, location] of names) {
      const gguf = await openGguf(location, signal ? { signal } : {});
      files.push(gguf);
      read.push(LoraAdapter.read(name, gguf, { architecture, tensors }));
    }
    return await AdapterSet.load(read, tensors);
  } finally {
    for (const file of files) await file.dispose();
  }
}

/** Undefined for a file without a usable one: its model runs on token ids, and says what is wrong when it is given a text. */
async function tokenizerOf({ metadata }: GgufFile): Promise<Tokenizer | undefined> {
  const { createTokenizer } = await import('../text/index.ts');
  try {
    const tokenizer = createTokenizer(metadata);
    // Tables are built for the first text.
    tokenizer.encode('a');
    return tokenizer;
  } catch {
    return undefined;
  }
}

/** Its code, the CPU device's, is read where it is wanted. */
async function decoderOn(threads: number | undefined): Promise<BlockDecoder> {
  const { openDecoder } = await import('./open-cpu.ts');
  return openDecoder({ threads });
}

import { fail, isRocmforgeError } from '../base/errors.ts';
import type { OptionNames } from '../base/options.ts';
import type { DraftModel, DraftSource } from '../runtime/opening/draft-model.ts';
import type { LanguageModel } from '../engine/language-model.ts';
import { type DeviceRequest, openDevice, reopenDevice } from './devices.ts';
import { locateModel } from './locate-model.ts';
import { openGguf } from './open-gguf.ts';

/** A smaller model of the same vocabulary that proposes draft tokens, which the model verifies. */
export interface DraftRequest {
  /** Its file: a path, an http(s) URL, or a model's name, as for `loadModel`. */
  readonly path?: string | undefined;
  /** An open model instead, which the caller owns. It should support as many concurrent sequences as this one. */
  readonly model?: LanguageModel | undefined;
  /** Maximum draft tokens per step. Default 4, or `minDraftTokens` if that is more. */
  readonly tokens?: number | undefined;
  /** A separate device for the file, as for `openDevice`. Default: it shares the model's. */
  readonly device?: string | undefined;
}

/** The names of `DraftRequest`. */
export const DRAFT_REQUEST: OptionNames<DraftRequest> = {
  path: true,
  model: true,
  tokens: true,
  device: true,
};

/**
 * The source of a model's draft model, or an open one. Rejects with `INVALID_ARGUMENT` if neither or both are given,
 * and with errors of opening a file and a device.
 */
export async function openDraft(
  { path, model, device: name }: DraftRequest,
  {
    logger,
    threads,
    cpuKernels,
    signal,
  }: Omit<DeviceRequest, 'device'> & { readonly signal?: AbortSignal | undefined },
): Promise<DraftModel | DraftSource> {
  if (model && path === undefined) return model;
  if (model || path === undefined) {
    const found = model ? 'both' : 'neither';
    return fail('INVALID_ARGUMENT', { name: 'draft', found, expected: 'a path or an open model' });
  }
  const file = await locateModel(path, { signal, logger });
  const gguf = await openGguf(file, { ...(signal && { signal }), ...(logger && { logger }) });
  if (name === undefined) return { gguf };
  const request = { device: name, threads, cpuKernels, logger };
  try {
    const device = await openDevice(request);
    return { gguf, device, reopen: () => reopenDevice(device.info, request) };
  } catch (error) {
    await gguf.dispose();
    if (!isRocmforgeError(error, 'INVALID_ARGUMENT')) throw error;
    return fail('INVALID_ARGUMENT', { ...error.params, name: `draft.${error.params.name}` }, error);
  }
}

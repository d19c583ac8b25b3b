import { fail } from '../base/errors.ts';
import type { OptionNames } from '../base/options.ts';
import type { DraftModel, DraftSource } from '../runtime/opening/draft-model.ts';
import type { LanguageModel } from '../engine/language-model.ts';
import { type DeviceRequest, openDevice, reopenDevice } from './devices.ts';
import { openGguf } from './open-gguf.ts';

/** A smaller model of the same vocabulary that proposes draft tokens, which the model verifies. */
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

/** The names of `DraftRequest`. */
export const DRAFT_REQUEST: OptionNames<DraftRequest> = {
  path: true,
  model: true,
  tokens: true,
  device: true,
};

/**
 * What the draft of a model is opened from, or the open one. Rejects with `INVALID_ARGUMENT` where neither or both are given,
 * and as opening a file and a device.
 */
export async function openDraft(
  { path, model, device: name }: DraftRequest,
  { logger, threads, signal }: Omit<DeviceRequest, 'device'> & { readonly signal?: AbortSignal | undefined },
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

import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { LanguageModel, ModelOptions } from '../engine/language-model.ts';
import { loadModel } from '../node/load-model.ts';
import { byteProgress } from './byte-progress.ts';
import type { CommandContext } from './command.ts';
import type { DeviceFlags, ModelFlags } from './options.ts';
import { PACKAGE_ROOT } from './package-root.ts';

/** The model that comes with the package: MiniMind2-Small, 26M weights, English and Chinese. */
export const BUNDLED_MODEL = fileURLToPath(new URL('models/minimind2-small-q4_k_m.gguf', PACKAGE_ROOT));

/** A model that is ready, and how long that took. The caller disposes the model. */
export interface LoadedModel {
  readonly model: LanguageModel;
  readonly seconds: number;
}

/** Loads the model that the flags name, showing how far it is. */
export async function loadFromFlags(
  flags: ModelFlags & DeviceFlags & Pick<ModelOptions, 'logitRows' | 'sequences'>,
  { output, signal, logger }: CommandContext,
): Promise<LoadedModel> {
  const location = flags.model ?? BUNDLED_MODEL;
  const begin = performance.now();
  const display = byteProgress(output, { doing: 'loading', done: 'loaded', name: basename(location) });
  try {
    const { context, batch, logitRows, sequences, cacheType, weights, device, threads } = flags;
    const wanted = { context, batch, logitRows, sequences, cacheType, weights, device, threads };
    const model = await loadModel(location, {
      ...wanted,
      signal,
      logger,
      onProgress: ({ bytes, totalBytes }) => display.show(bytes, totalBytes),
    });
    const seconds = (performance.now() - begin) / 1000;
    display.end(seconds);
    return { model, seconds };
  } finally {
    display.clear();
  }
}

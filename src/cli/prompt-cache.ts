import { basename, dirname } from 'node:path';
import { fail, isRocmforgeError } from '../base/errors.ts';
import type { LanguageModel } from '../engine/language-model.ts';
import { checkSavable, readState, writeState } from '../engine/state-file.ts';
import { StateFolder } from '../node/state-folder.ts';

/** The only slot of a model that answers one prompt at a time. */
const SLOT = 0;

/**
 * Restores the state that an earlier run has left in a file, if there is one. Rejects with `STATE_INVALID` if it is
 * another model's, with `INVALID_ARGUMENT` if this one's states cannot be saved, and with errors of reading.
 */
export async function restorePrompt(model: LanguageModel, path: string, signal: AbortSignal): Promise<void> {
  // Known before an answer is computed whose state could not be kept.
  await checkSavable(model, '--prompt-cache');
  const folder = await StateFolder.open(dirname(path));
  try {
    await using file = await folder.open(basename(path));
    await model.restoreState(await readState(model, file, signal), SLOT);
  } catch (error) {
    if (!isRocmforgeError(error, 'STATE_FILE_NOT_FOUND')) throw error;
  }
}

/**
 * Saves the state of the prompt and its answer to a file, which it replaces. Rejects with `INVALID_ARGUMENT` if nothing is
 * left of it: a recurrent state has gone beyond an answer that the model has ended itself.
 */
export async function savePrompt(model: LanguageModel, path: string): Promise<void> {
  const folder = await StateFolder.open(dirname(path));
  const snapshot = await model.saveSlot(SLOT).catch((error: unknown) => {
    if (!isRocmforgeError(error, 'INVALID_ARGUMENT') || error.params.name !== 'slot') throw error;
    const expected = 'an answer behind which the model keeps its state: limit it with --max-tokens';
    return fail('INVALID_ARGUMENT', { name: '--prompt-cache', found: 'none', expected }, error);
  });
  await folder.write(basename(path), (sink) => writeState(model, snapshot, sink));
}

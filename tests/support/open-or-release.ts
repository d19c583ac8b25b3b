import { LanguageModel, type ModelOptions } from '../../src/engine/language-model.ts';

/**
 * Opens a model whose device is its own. If that fails or is cut off, as by a server that ends meanwhile, the device is released:
 * its threads would keep the test's process.
 */
export async function openOrRelease(
  parts: Parameters<typeof LanguageModel.open>[0],
  options: ModelOptions = {},
): Promise<LanguageModel> {
  try {
    return await LanguageModel.open(parts, options);
  } catch (error) {
    await parts.device[Symbol.asyncDispose]();
    throw error;
  }
}

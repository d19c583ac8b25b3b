import type { GenerateOptions } from '../../src/engine/generate-options.ts';
import type { LanguageModel } from '../../src/engine/language-model.ts';

/** The ids that a model generates after a prompt. */
export async function idsOf(
  model: LanguageModel,
  prompt: readonly number[] | string,
  options: GenerateOptions,
): Promise<number[]> {
  const ids: number[] = [];
  for await (const { token } of model.generate(prompt, options)) if (token) ids.push(token.id);
  return ids;
}

import { z } from 'zod';
import { idsOf, listOf } from '../fields/list-of.ts';
import type { TextModel } from '../../engine/text-model.ts';
import { requireTextFits } from './prompt-bounds.ts';
import { MAX_CHOICES, promptEnd, type SamplingBody } from './sampling-fields.ts';

/** `prompt` of requests that continue texts. */
export const promptsField = z
  .union([
    z.string(),
    idsOf({ min: 1 }),
    listOf(z.union([z.string(), idsOf({ min: 1 })]), { min: 1, max: MAX_CHOICES }),
  ])
  .describe('A text, or token ids; or a list of such, each of which is continued.');

/**
 * The ids of a request's prompts. The names of control tokens are read as those, as other servers do. Rejects with
 * `CONTEXT_OVERFLOW` for a text that is too long, and `ABORTED`.
 */
export async function encodedPrompts(
  model: TextModel,
  request: SamplingBody & { readonly prompt: z.output<typeof promptsField> },
  { addSpecial, signal }: { readonly addSpecial: boolean; readonly signal: AbortSignal },
): Promise<(readonly number[])[]> {
  const { prompt: given } = request;
  const texts = typeof given === 'string' || isIds(given) ? [given] : given;
  const prompts: (readonly number[])[] = [];
  for (const text of texts) {
    if (typeof text === 'string') requireTextFits(model, text);
    const how = { addSpecial, parseSpecial: true, signal };
    const ids = typeof text === 'string' ? await model.tokenizer.encodeInTurns(text, how) : text;
    prompts.push(promptEnd(model, request, ids));
  }
  return prompts;
}

function isIds(list: number[] | (string | number[])[]): list is number[] {
  return typeof list[0] === 'number';
}

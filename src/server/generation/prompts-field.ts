import { z } from 'zod';
import { idsOf, listOf } from '../fields/list-of.ts';
import type { TextModel } from '../../engine/text-model.ts';
import { invalid } from '../endpoint.ts';
import { requireTextFits } from './prompt-bounds.ts';
import { MAX_CHOICES, truncatedPrompt, type SamplingBody } from './sampling-fields.ts';

/** `prompt` of completion requests. */
export const promptsField = z
  .union([
    z.string(),
    idsOf({ min: 1 }),
    listOf(z.union([z.string(), idsOf({ min: 1 })]), { min: 1, max: MAX_CHOICES }),
  ])
  .describe('A text, or token ids; or a list of such, each of which is continued.');

/**
 * The token ids of a request's prompts; with a suffix, infill prompts. Names of control tokens in a text are parsed as
 * such, as in other servers. Rejects with `CONTEXT_OVERFLOW` for a text that is too long, and `ABORTED`.
 */
export async function encodedPrompts(
  model: TextModel,
  request: SamplingBody & {
    readonly prompt: z.output<typeof promptsField>;
    readonly suffix?: string | null | undefined;
  },
  { addSpecial, signal }: { readonly addSpecial: boolean; readonly signal: AbortSignal },
): Promise<(readonly number[])[]> {
  const { prompt: given } = request;
  const texts = typeof given === 'string' || isIds(given) ? [given] : given;
  const prompts: (readonly number[])[] = [];
  for (const text of texts) {
    if (request.suffix) {
      if (request.truncate_prompt_tokens)
        invalid('truncate_prompt_tokens', 'prompt and suffix are taken whole');
      const between = { prefix: text, suffix: request.suffix };
      prompts.push(await infillPrompt(model, between, { field: 'suffix', signal }));
      continue;
    }
    if (typeof text === 'string') requireTextFits(model, text);
    const how = { addSpecial, parseSpecial: true, signal };
    const ids = typeof text === 'string' ? await model.tokenizer.encodeInTurns(text, how) : text;
    prompts.push(truncatedPrompt(model, request, ids));
  }
  return prompts;
}

function isIds(list: number[] | (string | number[])[]): list is number[] {
  return typeof list[0] === 'number';
}

/**
 * The prompt for infilling between a prefix and a suffix, with the model's own tokens for it (Bavarian et al. 2022, in
 * the order prefix, suffix, middle). Rejects with `REQUEST_INVALID`, which names `field`, for models that have none.
 */
export async function infillPrompt(
  model: TextModel,
  { prefix, suffix }: { readonly prefix: string | readonly number[]; readonly suffix: string },
  { field, signal }: { readonly field: string; readonly signal: AbortSignal },
): Promise<number[]> {
  const { bos, addBos, fimPrefix, fimSuffix, fimMiddle } = model.tokenizer.special;
  if (fimPrefix === undefined || fimSuffix === undefined || fimMiddle === undefined) {
    invalid(field, 'the model has no tokens for filling in the middle');
  }
  const encoded = async (text: string | readonly number[]) => {
    if (typeof text !== 'string') return text;
    requireTextFits(model, text);
    return model.tokenizer.encodeInTurns(text, { addSpecial: false, signal });
  };
  const begin = addBos && bos !== undefined ? [bos] : [];
  return [...begin, fimPrefix, ...(await encoded(prefix)), fimSuffix, ...(await encoded(suffix)), fimMiddle];
}

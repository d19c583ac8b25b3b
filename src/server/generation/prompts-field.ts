import { z } from 'zod';
import { idsAndTextsOf, idsOf, listOf } from '../fields/list-of.ts';
import { type InfillPrompt, infillParts } from '../../engine/infill.ts';
import type { TextModel } from '../../engine/text-model.ts';
import { invalid } from '../endpoint.ts';
import { requireTextFits } from './prompt-bounds.ts';
import { MAX_CHOICES, truncatedPrompt, type SamplingBody } from './sampling-fields.ts';

/** A text as llama.cpp's server takes it beside images. */
const promptObject = z.object({ prompt_string: z.string() });

/** Token ids and texts that are one prompt. */
const mixed = idsAndTextsOf({ min: 1 });

/** A prompt: a text, token ids, or both in turns. */
type Prompt = string | readonly number[] | readonly (number | string)[] | z.output<typeof promptObject>;

/** `prompt` of completion requests. */
export const promptsField = z
  .union([
    z.string(),
    idsOf({ min: 1 }),
    promptObject,
    listOf(z.union([z.string(), idsOf({ min: 1 }), mixed, promptObject]), { min: 1, max: MAX_CHOICES }),
    mixed,
  ])
  .describe(
    'A text (also as prompt_string of an object), token ids, or a list of both in turns; or a list of such prompts, each of which is continued.',
  );

interface Encoding {
  readonly addSpecial: boolean;
  readonly signal: AbortSignal;
}

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
  { addSpecial, signal }: Encoding,
): Promise<(readonly number[])[]> {
  const prompts: (readonly number[])[] = [];
  for (const prompt of promptsOf(request.prompt)) {
    if (request.suffix) {
      if (request.truncate_prompt_tokens)
        invalid('truncate_prompt_tokens', 'prompt and suffix are taken whole');
      const prefix =
        typeof prompt === 'string' ? prompt : await encoded(model, prompt, { addSpecial: false, signal });
      const between = { prefix, suffix: request.suffix };
      prompts.push(await infillPrompt(model, between, signal));
      continue;
    }
    prompts.push(truncatedPrompt(model, request, await encoded(model, prompt, { addSpecial, signal })));
  }
  return prompts;
}

/** The prompts of a request, without the objects around texts. A list with an id in it is a single one. */
function promptsOf(given: z.output<typeof promptsField>): Exclude<Prompt, { prompt_string: string }>[] {
  const isOne = !Array.isArray(given) || given.some((part) => typeof part === 'number');
  const prompts = (isOne ? [given] : given) as Prompt[];
  return prompts.map((prompt) =>
    typeof prompt === 'object' && 'prompt_string' in prompt ? prompt.prompt_string : prompt,
  );
}

/** The ids of a prompt. What the model wants around a text goes around one that begins the prompt. */
async function encoded(
  model: TextModel,
  prompt: string | readonly (number | string)[],
  { addSpecial, signal }: Encoding,
): Promise<readonly number[]> {
  const parts = typeof prompt === 'string' ? [prompt] : prompt;
  const texts = parts.filter((part) => typeof part === 'string');
  if (texts.length === 0) return parts as readonly number[];
  requireTextFits(model, texts.join(''));
  const ids: number[][] = [];
  for (const [at, part] of parts.entries()) {
    const how = { addSpecial: addSpecial && at === 0, parseSpecial: true, signal };
    ids.push(typeof part === 'number' ? [part] : await model.tokenizer.encodeInTurns(part, how));
  }
  return ids.flat();
}

/**
 * The prompt for infilling between a prefix and a suffix, as `TextModel.infill` builds it. Rejects with `INFILL_UNSUPPORTED`,
 * `CONTEXT_OVERFLOW` for a text that is too long, and `ABORTED`.
 */
export async function infillPrompt(
  model: TextModel,
  of: InfillPrompt,
  signal: AbortSignal,
): Promise<number[]> {
  const ids: number[][] = [];
  for (const part of infillParts(model.tokenizer.special, of)) {
    if (typeof part === 'string') requireTextFits(model, part);
    const how = { addSpecial: false, signal };
    ids.push(typeof part === 'number' ? [part] : await model.tokenizer.encodeInTurns(part, how));
  }
  return ids.flat();
}

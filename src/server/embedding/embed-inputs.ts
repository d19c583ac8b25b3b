import { z } from 'zod';
import { fail } from '../../base/errors.ts';
import type { TextModel } from '../../engine/text-model.ts';
import { invalid } from '../endpoint.ts';
import { idsOf, listOf, idsAndTextsOf } from '../fields/list-of.ts';
import { requireTextFits } from '../generation/prompt-bounds.ts';

/** Maximum texts of a request, as in OpenAI's API. */
export const MAX_INPUTS = 2048;

/** A text's pieces: texts and token ids, mixed. */
const pieces = idsAndTextsOf({ min: 1 });

/** `input` of requests for embeddings and scores. */
export const inputField = z
  .union([
    z.string(),
    idsOf({ min: 1 }),
    listOf(z.union([z.string(), idsOf({ min: 1 }), pieces]), { min: 1, max: MAX_INPUTS }),
    pieces,
  ])
  .describe('A text or several; or token ids, of one text or several, between which texts may stand.');

type Input = string | readonly (string | number)[];

/**
 * The token ids of a request's texts. Names of control tokens are parsed as such, as in other servers. Rejects with
 * `CONTEXT_OVERFLOW` before any of them is computed, with `REQUEST_INVALID` for one without tokens, and `ABORTED`.
 */
export async function encodedInputs(
  model: TextModel,
  input: z.output<typeof inputField>,
  signal: AbortSignal,
): Promise<(readonly number[])[]> {
  const inputs = inputsOf(input);
  for (const text of inputs.flat()) if (typeof text === 'string') requireTextFits(model, text);
  const encoded: (readonly number[])[] = [];
  for (const given of inputs) {
    const ids = await encodedInput(model, given, signal);
    if (ids.length === 0) invalid('input', 'a text has no tokens');
    if (ids.length > model.context) {
      fail('CONTEXT_OVERFLOW', { tokens: ids.length, context: model.context });
    }
    encoded.push(ids);
  }
  return encoded;
}

/** Several texts, unless the list has ids of its own. */
function inputsOf(input: z.output<typeof inputField>): readonly Input[] {
  if (typeof input === 'string') return [input];
  if (isMixed(input)) return [input];
  // Texts alone are pieces of one as well, to the schema.
  if (input.length > MAX_INPUTS) invalid('input', `Too big: expected at most ${MAX_INPUTS} elements`);
  return input as readonly Input[];
}

function isMixed(input: readonly unknown[]): input is readonly (string | number)[] {
  return input.some((piece) => typeof piece === 'number');
}

/** The first text of a mixed list gets what the model wants around texts, unless ids come before it. */
async function encodedInput(
  { tokenizer }: TextModel,
  input: Input,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const encode = (text: string, addSpecial: boolean) =>
    tokenizer.encodeInTurns(text, { addSpecial, parseSpecial: true, signal });
  if (typeof input === 'string') return encode(input, true);
  const ids: number[] = [];
  for (const [index, piece] of input.entries()) {
    if (typeof piece === 'number') ids.push(piece);
    else ids.push(...(await encode(piece, index === 0)));
  }
  return ids;
}

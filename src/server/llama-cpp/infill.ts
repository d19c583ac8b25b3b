import { z } from 'zod';
import { postEndpoint } from '../endpoint.ts';
import { listOf } from '../fields/list-of.ts';
import { OTHER_FIELDS } from '../fields/other-fields.ts';
import { infillPrompt } from '../generation/prompts-field.ts';
import { complete, completionFields } from './completion.ts';

/** Maximum other files. */
const MAX_FILES = 256;

/** A prompt with its own tokens at both ends cannot be truncated. */
const { truncate_prompt_tokens: _, ...fields } = completionFields;

const body = z.object({
  ...fields,
  input_prefix: z.string().describe('What stands before the text.'),
  input_suffix: z.string().describe('What stands behind the text.'),
  prompt: z.string().nullish().describe('The beginning of the text, which is not reported.'),
  input_extra: listOf(z.object({ filename: z.string().optional(), text: z.string() }), { max: MAX_FILES })
    .nullish()
    .describe('Other files, which the model sees before: filename and text of each.'),
});

/** `POST /infill`, as in llama.cpp's server. */
export const infillEndpoint = postEndpoint({
  path: '/infill',
  summary: 'Fills in a text between two others, in the format of llama.cpp’s server.',
  body,
  others: {
    ...OTHER_FIELDS,
    truncate_prompt_tokens: { verdict: 'refused', why: 'prefix and suffix are taken whole', neutral: [] },
  },
  handle: (request, call) => {
    const { input_prefix: before, input_suffix: suffix, input_extra, prompt } = request;
    const { signal } = call;
    const between = { prefix: before + (prompt ?? ''), suffix, files: input_extra ?? [] };
    return complete(request, call, async (model) => [await infillPrompt(model, between, signal)]);
  },
});

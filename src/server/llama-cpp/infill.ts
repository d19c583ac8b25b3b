import { z } from 'zod';
import { postEndpoint } from '../endpoint.ts';
import { OTHER_FIELDS } from '../fields/other-fields.ts';
import { infillPrompt } from '../generation/prompts-field.ts';
import { complete, completionFields } from './completion.ts';

/** A prompt with its own tokens at both ends cannot be truncated. */
const { truncate_prompt_tokens: _, ...fields } = completionFields;

const body = z.object({
  ...fields,
  input_prefix: z.string().describe('What stands before the text.'),
  input_suffix: z.string().describe('What stands behind the text.'),
  prompt: z.string().nullish().describe('The beginning of the text, which is not reported.'),
});

/** `POST /infill`, as in llama.cpp's server. */
export const infillEndpoint = postEndpoint({
  path: '/infill',
  summary: 'Fills in a text between two others, in the format of llama.cpp’s server.',
  body,
  others: {
    ...OTHER_FIELDS,
    truncate_prompt_tokens: { verdict: 'refused', why: 'prefix and suffix are taken whole', neutral: [] },
    input_extra: { verdict: 'refused', why: 'other files are not read', neutral: [[]] },
  },
  handle: (request, call) => {
    const { input_prefix: before, input_suffix: suffix, prompt } = request;
    const { signal } = call;
    const between = { prefix: before + (prompt ?? ''), suffix };
    const how = { field: 'input_suffix', signal };
    return complete(request, call, async (model) => [await infillPrompt(model, between, how)]);
  },
});

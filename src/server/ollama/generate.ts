import { z } from 'zod';
import type { TextModel } from '../../engine/text-model.ts';
import type { ChatMessage } from '../../text/index.ts';
import { invalid, json, postEndpoint } from '../endpoint.ts';
import { answerForm, chatPrompt } from '../generation/answer-form.ts';
import { encodedPrompts } from '../generation/prompts-field.ts';
import { startGeneration, type GenerationTask } from '../generation/run-task.ts';
import type { RequestContext } from '../request-context.ts';
import { AnswerLines, type OllamaPiece } from './answer-lines.ts';
import {
  keepLoaded,
  loadOrUnload,
  modelName,
  OLLAMA_FIELDS,
  ollamaFields,
  ollamaConstraint,
  ollamaOptions,
  ollamaReasoning,
} from './ollama-fields.ts';

const body = z.object({
  ...ollamaFields,
  prompt: z.string().nullish().describe('A question; without one the model is only loaded.'),
  suffix: z
    .string()
    .nullish()
    .describe('What stands behind the text: it is filled in, by models that were trained for it.'),
  system: z.string().nullish(),
  raw: z.boolean().nullish().describe('Continues the prompt as it is, without the chat template.'),
});

type GenerateBody = z.output<typeof body>;

/** `POST /api/generate`, according to Ollama's API reference. */
export const ollamaGenerateEndpoint = postEndpoint({
  path: '/api/generate',
  summary: 'Answers a question or continues a text, in the format of Ollama.',
  dialect: 'ollama',
  body,
  others: OLLAMA_FIELDS,
  handle: async (request, call) => {
    if (!request.prompt) return json({ ...(await loadOrUnload(request, call)), response: '' });
    const name = modelName(request.model);
    const generation = await startGeneration(call, name, (model) => {
      keepLoaded(name, request.keep_alive, call.server.pool);
      return taskOf(request, model, call);
    });
    return new AnswerLines(generation, responseOf).respond(call, request.stream !== false);
  },
});

async function taskOf(
  request: GenerateBody,
  model: TextModel,
  call: RequestContext,
): Promise<GenerationTask> {
  const { signal } = call;
  const prompt = request.prompt ?? '';
  if (request.suffix && request.raw) invalid('suffix', 'a raw prompt is continued as it is');
  if (request.suffix && request.system) invalid('suffix', 'a text that is filled in has no system message');
  if (request.suffix || request.raw) {
    const { suffix } = request;
    const prompts = await encodedPrompts(model, { prompt, suffix }, { addSpecial: true, signal });
    const options = ollamaOptions(model, request, { continues: true });
    return { prompts, options: { ...options, ...ollamaConstraint(request) }, choices: 1 };
  }
  const system: ChatMessage[] = request.system ? [{ role: 'system', content: request.system }] : [];
  const messages: ChatMessage[] = [...system, { role: 'user', content: prompt }];
  const reasoning = ollamaReasoning(request);
  const ids = await chatPrompt(model, messages, { thinking: { reasoning, variables: {} }, call });
  const options = ollamaOptions(model, request, { continues: false });
  const form = answerForm(ollamaConstraint(request), undefined);
  return { prompts: [ids], options, choices: 1, form, reasoning };
}

function responseOf({ text, thinking }: OllamaPiece): object {
  return { response: text, ...(thinking !== '' && { thinking }) };
}

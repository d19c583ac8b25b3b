import { z } from 'zod';
import type { TextModel } from '../../engine/text-model.ts';
import { type ReasoningOptions, templateVariables } from '../../text/index.ts';
import { invalid } from '../endpoint.ts';

const tokens = z.int().min(-1).nullish();

/** Reasoning fields of chat requests, by the names of OpenAI's API and of llama.cpp's server. */
export const reasoningFields = {
  reasoning_effort: z
    .string()
    .nullish()
    .describe('How much the model thinks, in a word that its template knows; none turns it off.'),
  reasoning_budget_tokens: tokens.describe('Most tokens of reasoning; 0 ends it at once, -1 sets no limit.'),
  thinking_budget_tokens: tokens.describe('Another name of reasoning_budget_tokens.'),
  chat_template_kwargs: z
    .record(z.string(), z.unknown())
    .nullish()
    .describe('Variables for the chat template, such as enable_thinking.'),
};

/** The reasoning options of a request, and variables for the template. */
export interface RequestedReasoning {
  readonly reasoning: ReasoningOptions;
  readonly variables: Readonly<Record<string, unknown>>;
}

/** Template variables that turn reasoning on or off. */
const SWITCHES = ['enable_thinking', 'thinking'];

/**
 * Throws `REQUEST_INVALID` for variables that the template does not read. `standard` is whether models with a switch for it
 * reason if the request does not say; without it, the template decides.
 */
export function requestedReasoning(
  model: TextModel,
  fields: z.output<z.ZodObject<typeof reasoningFields>>,
  standard?: boolean,
): RequestedReasoning {
  const known = templateVariables(model.chatTemplate.source);
  const variables: Record<string, unknown> = {};
  let enabled: boolean | undefined;
  for (const [name, value] of Object.entries(fields.chat_template_kwargs ?? {})) {
    const isKnown = known.has(name);
    const isSwitch = SWITCHES.includes(name) && typeof value === 'boolean';
    if (isSwitch) enabled = value;
    if (isKnown) variables[name] = value;
    else if (!isSwitch)
      invalid(`chat_template_kwargs.${name}`, "the model's chat template reads no such variable");
  }
  const budget = fields.reasoning_budget_tokens ?? fields.thinking_budget_tokens ?? -1;
  const isOpen = enabled === undefined && budget < 0 && (fields.reasoning_effort ?? undefined) === undefined;
  if (isOpen && SWITCHES.some((name) => known.has(name))) enabled = standard;
  return {
    reasoning: {
      enabled,
      effort: fields.reasoning_effort ?? undefined,
      budget: budget < 0 ? undefined : budget,
    },
    variables,
  };
}

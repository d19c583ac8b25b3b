import { z } from 'zod';
import { listOf } from '../fields/list-of.ts';
import { invalid } from '../endpoint.ts';
import type { TextConstraint } from './answer-form.ts';

/** A JSON schema: an object, true or false. */
const schema = z.union([z.record(z.string(), z.unknown()), z.boolean()]);
const choices = listOf(z.string(), { min: 1 });
const GBNF = "A grammar in llama.cpp's GBNF, of which the text is.";

/** Fields that constrain the text, by the names of vLLM and of llama.cpp's server. */
export const constraintFields = {
  json_schema: schema.nullish().describe('A JSON schema that the text satisfies.'),
  guided_json: z
    .union([schema, z.string()])
    .nullish()
    .describe('A JSON schema that the text satisfies, or its text.'),
  guided_regex: z.string().nullish().describe('A pattern that matches the text as a whole.'),
  guided_choice: choices.nullish().describe('The text is one of these.'),
  structured_outputs: z
    .strictObject({
      json: z.union([schema, z.string()]).nullish(),
      json_object: z.boolean().nullish(),
      regex: z.string().nullish(),
      choice: choices.nullish(),
      grammar: z.string().nullish().describe(GBNF),
    })
    .nullish()
    .describe('One of these, in the names of vLLM.'),
  grammar: z.string().nullish().describe(GBNF),
  guided_grammar: z.string().nullish().describe(GBNF),
};

/** The fields of a request that constrain its text. */
export type ConstraintBody = z.output<z.ZodObject<typeof constraintFields>>;

/**
 * The constraint of a request's text; `format` is what its `response_format` requires. Throws `REQUEST_INVALID` for
 * conflicting constraints and for invalid ones.
 */
export function constraintOf(
  body: ConstraintBody,
  format: TextConstraint = {},
  named = 'response_format',
): TextConstraint {
  const { structured_outputs: outputs } = body;
  const asked: [string, TextConstraint][] = Object.keys(format).length > 0 ? [[named, format]] : [];
  const add = <T>(field: string, value: T | null | undefined, constraint: (value: T) => TextConstraint) => {
    if (value !== null && value !== undefined) asked.push([field, constraint(value)]);
  };
  add('json_schema', body.json_schema, (of) => ({ schema: of }));
  add('guided_json', body.guided_json, (of) => ({ schema: schemaOf(of, 'guided_json') }));
  add('guided_regex', body.guided_regex, (regex) => ({ regex }));
  add('guided_choice', body.guided_choice, (of) => ({ choices: of }));
  add('structured_outputs.json', outputs?.json, (of) => ({
    schema: schemaOf(of, 'structured_outputs.json'),
  }));
  add('structured_outputs.json_object', outputs?.json_object || undefined, () => ({ json: true }));
  add('structured_outputs.regex', outputs?.regex, (regex) => ({ regex }));
  add('structured_outputs.choice', outputs?.choice, (of) => ({ choices: of }));
  for (const field of ['grammar', 'guided_grammar'] as const) {
    add(field, body[field] || undefined, (grammar) => ({ grammar }));
  }
  add('structured_outputs.grammar', outputs?.grammar || undefined, (grammar) => ({ grammar }));
  const [first, second] = asked;
  if (second) invalid(second[0], `${first?.[0]} is there, too: a text is held to one of them`);
  return first?.[1] ?? {};
}

/** A schema, which may be given as JSON text. */
function schemaOf(given: unknown, field: string): unknown {
  if (typeof given !== 'string') return given;
  try {
    return JSON.parse(given);
  } catch {
    return invalid(field, 'it is no JSON schema: its text is not JSON');
  }
}

import { z } from 'zod';
import { jsonSchema, type TextConstraint } from '../generation/answer-form.ts';
import { type ConstraintBody, constraintOf } from '../generation/constraint-fields.ts';

/** `response_format` of OpenAI's APIs; llama.cpp's server also accepts a schema with `json_object`. */
export const responseFormat = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text') }),
  z.object({ type: z.literal('json_object'), schema: jsonSchema.nullish() }),
  z.object({ type: z.literal('json_schema'), json_schema: z.object({ schema: jsonSchema }) }),
]);

/** A request with a response format. */
type FormatBody = ConstraintBody & {
  readonly response_format?: z.output<typeof responseFormat> | null | undefined;
};

/** The form that a request asks for. Throws `REQUEST_INVALID`. */
export function textConstraintOf(body: FormatBody): TextConstraint {
  const { response_format: format } = body;
  if (format?.type === 'json_object') {
    return constraintOf(body, format.schema ? { schema: format.schema } : { json: true });
  }
  if (format?.type === 'json_schema') return constraintOf(body, { schema: format.json_schema.schema });
  return constraintOf(body);
}

import type { z } from 'zod';
import { invalid } from './endpoint.ts';
import type { RequestContext } from './request-context.ts';

/**
 * The query of a request. `name[]` is a list and `name[key]` an object, as OpenAI's clients write them; unknown names are
 * reported. Throws `REQUEST_INVALID`.
 */
export function readQuery<T extends z.ZodObject>(call: RequestContext, schema: T): z.output<T> {
  const fields = new Map<string, unknown>();
  for (const [written, value] of new URL(call.request.url).searchParams) {
    const [, name = written, key] = /^(\w+)\[(\w*)\]$/.exec(written) ?? [];
    const before = fields.get(name);
    if (key === undefined) fields.set(name, value);
    else if (key === '') fields.set(name, [...(Array.isArray(before) ? (before as unknown[]) : []), value]);
    else fields.set(name, { ...(typeof before === 'object' ? before : {}), [key]: value });
  }
  const unknown = [...fields.keys()].filter((name) => !Object.hasOwn(schema.shape, name));
  call.reportIgnored(unknown.slice(0, MAX_NAMED));
  const { data, error, success } = schema.safeParse(Object.fromEntries(fields));
  if (success) return data;
  const [issue] = error.issues;
  return invalid(issue?.path.map(String).join('.') ?? '', issue?.message ?? 'is not valid');
}

/** Maximum unknown names that are reported. */
const MAX_NAMED = 32;

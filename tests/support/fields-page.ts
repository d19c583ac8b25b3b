import { z } from 'zod';
import type { Endpoint } from '../../src/server/endpoint.ts';
import { VECTOR_FIELDS } from '../../src/server/fields/vector-fields.ts';
import { ENDPOINTS } from '../../src/server/routes.ts';

/** An endpoint with the fields that it supports. */
export interface TextEndpoint {
  readonly path: string;
  readonly honoured: ReadonlySet<string>;
  readonly others: NonNullable<Endpoint['others']>;
}

/** The endpoints that know other servers' fields. */
const KNOWING = ENDPOINTS.filter(({ others }) => others);

/** Those that are no other names of one before them. */
const ALL: readonly TextEndpoint[] = KNOWING.filter(
  ({ body }, at) => body instanceof z.ZodObject && KNOWING.findIndex((of) => of.body === body) === at,
).flatMap(({ path, body, others }) =>
  others && body instanceof z.ZodObject ? [{ path, honoured: new Set(Object.keys(body.shape)), others }] : [],
);

/** Those that generate texts, or count their tokens. */
export const TEXT_ENDPOINTS = ALL.filter(({ others }) => others !== VECTOR_FIELDS);

/** Those that embed, rank or classify texts. */
export const VECTOR_ENDPOINTS = ALL.filter(({ others }) => others === VECTOR_FIELDS);

const HEAD = `# Fields of requests

Every known request field, per endpoint. *Honoured*: the field does what its API documents. *Refused*: the request fails with
\`REQUEST_INVALID\`, except for null and the values in parentheses, which ask for nothing. *Harmless*: the answer is the same
without the field. All other fields have no effect; the response header \`x-rocmforge-ignored-fields\` and the log line list them, as
paths with \`*\` for any list index. Other names of an endpoint take the same fields.

## Generating texts

`;

const VECTORS = `
## Embeddings, ranks and labels

`;

/** The text of docs/fields.md, generated from the request validation. */
export function fieldsPage(): string {
  return `${HEAD}${fieldsTable(TEXT_ENDPOINTS)}${VECTORS}${fieldsTable(VECTOR_ENDPOINTS)}`;
}

function fieldsTable(endpoints: readonly TextEndpoint[]): string {
  const names = new Set(endpoints.flatMap(({ honoured, others }) => [...honoured, ...Object.keys(others)]));
  const row = (name: string) => {
    const cells = endpoints.map(({ honoured, others }) =>
      honoured.has(name) ? 'honoured' : (others[name]?.verdict ?? ''),
    );
    const other = endpoints.map(({ others }) => others[name]).find((known) => known !== undefined);
    const neutral = (other?.neutral ?? []).map((value) => `\`${JSON.stringify(value)}\``).join(', ');
    const why = other ? `${other.why}${neutral && ` (${neutral})`}` : '';
    return `| \`${name}\` | ${cells.join(' | ')} | ${why} |`;
  };
  const titles = endpoints.map(({ path }) => `\`${path.replace('/v1/', '')}\``);
  const head = `| field | ${titles.join(' | ')} | reason |`;
  const rule = `|${'---|'.repeat(endpoints.length + 2)}`;
  return `${[head, rule, ...[...names].sort().map(row)].join('\n')}\n`;
}

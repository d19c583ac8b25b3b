import { fail } from '../../base/errors.ts';
import { isDeeper } from '../../base/json-depth.ts';
import {
  Fuel,
  type FuelOptions,
  type Grammar,
  jsonGrammar,
  schemaGrammar,
  wholeRegex,
} from '../../grammar/index.ts';

/** What a text is held to: JSON data, which crosses to a worker and can be compared as it is written. */
export type TextForm =
  /** Any JSON object. */
  | { readonly kind: 'json' }
  /** JSON that satisfies a JSON schema, draft 2020-12. */
  | { readonly kind: 'schema'; readonly schema: unknown }
  /** Text that is, as a whole, what an ECMA-262 pattern matches. */
  | { readonly kind: 'regex'; readonly pattern: string }
  /** One of these texts. */
  | { readonly kind: 'choices'; readonly choices: readonly string[] };

/** Longest description in UTF-16 units, and how deeply it may be nested: both cost time and stack. */
const LONGEST = 512 * 1024;
const DEEPEST = 128;

/** The description as it is written, by which equal ones are known. Throws `GRAMMAR_INVALID` for what is too long or too deep. */
export function writtenForm(form: TextForm): string {
  let text: string;
  try {
    text = JSON.stringify(form);
  } catch (error) {
    return fail('GRAMMAR_INVALID', { reason: 'it cannot be written as JSON' }, error);
  }
  if (text.length > LONGEST) {
    fail('GRAMMAR_INVALID', { reason: `it has ${text.length} characters, at most ${LONGEST} are taken` });
  }
  if (isDeeper(text, DEEPEST))
    fail('GRAMMAR_INVALID', { reason: `it is nested deeper than ${DEEPEST} levels` });
  return text;
}

/** The grammar of a form. Throws `GRAMMAR_INVALID`, `SCHEMA_UNSUPPORTED`, `GRAMMAR_TOO_COSTLY` or `ABORTED`. */
export function formGrammar(form: TextForm, limits: FuelOptions): Grammar {
  const fuel = new Fuel('the grammar', limits);
  switch (form.kind) {
    case 'json':
      return jsonGrammar('object');
    case 'schema':
      return schemaGrammar(form.schema, {}, fuel);
    case 'regex':
      return rooted({ kind: 'regex', regex: wholeRegex(form.pattern) });
    case 'choices':
      return rooted({
        kind: 'choice',
        parts: form.choices.map((text) => ({ kind: 'regex', regex: { kind: 'text', text } })),
      });
  }
}

function rooted(rule: Grammar['rules'] extends ReadonlyMap<string, infer R> ? R : never): Grammar {
  return { rules: new Map([['root', rule]]), root: 'root' };
}

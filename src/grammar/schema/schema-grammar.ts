import { Fuel } from '../fuel.ts';
import type { Grammar } from '../grammar.ts';
import { RegularLanguages } from '../regex/regular-languages.ts';
import { ADDRESSES, SchemaDocument } from './document.ts';
import { Emitter, SchemaRules } from './emit.ts';
import { Expander } from './expand.ts';
import { copyJson } from './json-value.ts';
import { invalid, type SchemaOptions } from './options.ts';
import { pruned } from './prune.ts';
import { terminal } from './rules.ts';
import { termOf } from './shapes.ts';
import { spacingOf } from './spacing.ts';

/**
 * The JSON that satisfies a schema (JSON Schema, draft 2020-12), with object members in the order of `properties`.
 * Every keyword is honoured or the schema is refused: throws `SCHEMA_UNSUPPORTED` with the keyword and its location,
 * `GRAMMAR_INVALID` for an invalid or unsatisfiable schema, and `GRAMMAR_TOO_COSTLY` for one that would take too long.
 */
export function schemaGrammar(
  schema: unknown,
  options: SchemaOptions = {},
  fuel = new Fuel('the schema', BOUNDS),
): Grammar {
  const document = new SchemaDocument(copyJson(schema, ADDRESSES));
  const languages = new RegularLanguages(fuel);
  const expander = new Expander(document, languages, fuel, options);
  const spacing = spacingOf(options.whitespace);
  const emitter = new Emitter(new SchemaRules(expander, spacing));
  const around = terminal(spacing.around);
  const whole = emitter.grammar(termOf([document.root]), { before: around, behind: around });
  const grammar = pruned(whole, languages, emitter.someText);
  return grammar ?? invalid('', 'no value satisfies the schema');
}

const BOUNDS = { units: 2_000_000 };

/** Any JSON value, or with `kind` `object` (as for `json_object`) any object. */
export function jsonGrammar(kind: 'value' | 'object' = 'value', options: SchemaOptions = {}): Grammar {
  return schemaGrammar(kind === 'object' ? { type: 'object' } : true, options);
}

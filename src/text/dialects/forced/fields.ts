import { fail } from '../../../base/errors.ts';
import { schemaGrammar, type Rule } from '../../../grammar/index.ts';
import { isSchema, type Parameters } from '../parameters.ts';
import { choice, sequence } from './rules.ts';

type Schema = Readonly<Record<string, unknown>>;

/** A parameter of a tool. */
export interface Field {
  readonly name: string;
  readonly schema: unknown;
  readonly isRequired: boolean;
}

/** Keywords of a tool's parameters that allow writing them separately, besides annotations. */
const HONOURED = new Set(['type', 'properties', 'required', 'additionalProperties']);
const ASSERTING = new Set([
  'enum',
  'const',
  'allOf',
  'anyOf',
  'oneOf',
  'not',
  'if',
  'then',
  'else',
  '$ref',
  '$dynamicRef',
  'patternProperties',
  'propertyNames',
  'minProperties',
  'maxProperties',
  'dependentRequired',
  'dependentSchemas',
  'dependencies',
  'unevaluatedProperties',
]);

/** The parameters of a tool in order. Throws `SCHEMA_UNSUPPORTED` for keywords that do more than list them. */
export function fieldsOf(parameters: Parameters): Field[] {
  const { schema, properties } = parameters;
  const keyword = Object.keys(schema).find((word) => ASSERTING.has(word) && !HONOURED.has(word));
  if (keyword !== undefined) {
    refuse(keyword, '', 'calls of this model are written parameter by parameter');
  }
  const required = new Set(Array.isArray(schema['required']) ? schema['required'].map(String) : []);
  const others = schema['additionalProperties'] ?? true;
  const undeclared = [...required].filter((name) => !properties.has(name));
  const declared = [...properties].map(([name, of]) => ({
    name,
    schema: of,
    isRequired: required.has(name),
  }));
  return [...declared, ...undeclared.map((name) => ({ name, schema: others, isRequired: true }))];
}

/** The arguments of a tool as one JSON object. */
export function argumentsRule({ schema }: Parameters): Rule {
  return { kind: 'grammar', grammar: schemaGrammar({ ...schema, type: 'object' }) };
}

/** The JSON values of a part of a tool's schema, restricted to `types` if given. */
export function jsonRule({ schema: root }: Parameters, schema: unknown, types?: readonly string[]): Rule {
  const definitions: Record<string, unknown> = {};
  for (const word of ['$defs', 'definitions']) if (isSchema(root[word])) definitions[word] = root[word];
  const typed: Schema = types ? { allOf: [schema, { type: [...types] }] } : { allOf: [schema] };
  return { kind: 'grammar', grammar: schemaGrammar({ ...definitions, ...typed }) };
}

/** Fields in sequence, of which only the required ones are mandatory; `between` separates them. */
export function fieldsRule(fields: readonly { rule: Rule; isRequired: boolean }[], between: Rule): Rule {
  const rules = new Map<string, Rule>();
  const name = (at: number, isFirst: boolean) => `${isFirst ? 'first' : 'next'}${at}`;
  for (let at = fields.length; at >= 0; at--) {
    for (const isFirst of [true, false]) {
      const field = fields[at];
      if (!field) {
        rules.set(name(at, isFirst), sequence());
        continue;
      }
      const behind: Rule = { kind: 'reference', name: name(at + 1, false) };
      const written = isFirst ? sequence(field.rule, behind) : sequence(between, field.rule, behind);
      const left: Rule = { kind: 'reference', name: name(at + 1, isFirst) };
      rules.set(name(at, isFirst), field.isRequired ? written : choice(written, left));
    }
  }
  return { kind: 'grammar', grammar: { rules, root: name(0, true) } };
}

/** Refuses a schema that a dialect's calls cannot be constrained to. */
export function refuse(keyword: string, pointer: string, reason: string): never {
  fail('SCHEMA_UNSUPPORTED', { keyword, pointer, reason });
}

import { fail } from '../base/errors.ts';

/** What a schema says of a value: the value as the schema understands it, or what is wrong with it. */
export type SchemaResult<T> =
  { readonly value: T; readonly issues?: undefined } | { readonly issues: readonly SchemaIssue[] };

/** What a schema finds wrong with a value, and where. */
export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/**
 * A schema of a library that implements Standard Schema and Standard JSON Schema (standardschema.dev), such as Zod from 4.2 on or
 * ArkType: it has a type, can be written as a JSON schema, and checks values.
 */
export interface TypedSchema<T = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly types?: { readonly input: unknown; readonly output: T } | undefined;
    readonly validate: (value: unknown) => SchemaResult<T> | Promise<SchemaResult<T>>;
    readonly jsonSchema: {
      readonly input: (options: { readonly target: string }) => Record<string, unknown>;
    };
  };
}

/** The type of the values that a schema describes: a typed schema's own, or that of a JSON schema written as a literal. */
export type ResultOf<S> = S extends TypedSchema<infer T> ? T : FromJsonSchema<S>;

/**
 * The type of the values of a JSON schema that is written as a literal: its types, constants, alternatives, members and items.
 * Unknown where it says nothing else, or refers to a definition.
 */
export type FromJsonSchema<S> = unknown extends S
  ? unknown
  : S extends { readonly const: infer C }
    ? C
    : S extends { readonly enum: readonly (infer E)[] }
      ? E
      : S extends { readonly anyOf: readonly (infer A)[] }
        ? FromJsonSchema<A>
        : S extends { readonly oneOf: readonly (infer A)[] }
          ? FromJsonSchema<A>
          : S extends { readonly type: readonly (infer K)[] }
            ? JsonValueOf<S, K>
            : S extends { readonly type: infer K }
              ? JsonValueOf<S, K>
              : unknown;

/** The type of the values of a JSON schema that have the type `K`. */
export type JsonValueOf<S, K> = K extends 'string'
  ? string
  : K extends 'number' | 'integer'
    ? number
    : K extends 'boolean'
      ? boolean
      : K extends 'null'
        ? null
        : K extends 'array'
          ? S extends { readonly items: infer I }
            ? FromJsonSchema<I>[]
            : unknown[]
          : K extends 'object'
            ? S extends { readonly properties: infer P }
              ? JsonMembersOf<P, S extends { readonly required: readonly (infer R)[] } ? R : never>
              : Record<string, unknown>
            : unknown;

/** The type of an object with the members `P`, of which those named `R` are always there. */
export type JsonMembersOf<P, R> = {
  -readonly [Name in keyof (Pick<P, Extract<keyof P, R>> & Partial<P>)]: FromJsonSchema<P[Name & keyof P]>;
};

/** The version of JSON Schema that constraints understand. */
const TARGET = 'draft-2020-12';

/** Keywords whose value is a schema, a list of schemas, or schemas by name. */
const HOLDS_SCHEMAS = new Set(['items', 'prefixItems', 'additionalProperties', 'anyOf', 'oneOf']);
const HOLDS_NAMED_SCHEMAS = new Set(['properties', '$defs', 'definitions']);

/** True for a schema of a library. */
export function isTypedSchema(schema: unknown): schema is TypedSchema {
  const isHeld = (typeof schema === 'object' && schema !== null) || typeof schema === 'function';
  return isHeld && '~standard' in schema;
}

/**
 * The JSON schema of a schema; JSON schemas are returned as they are. Objects of a typed schema have no other members than theirs
 * unless it says so, because a model would invent some. Throws `INVALID_ARGUMENT` for a typed schema that cannot be written as
 * one.
 */
export function jsonSchemaOf(schema: unknown): unknown {
  if (!isTypedSchema(schema)) return schema;
  const { vendor, jsonSchema } = schema['~standard'] as Partial<TypedSchema['~standard']>;
  const expected = 'one that can be written as JSON Schema (Zod from 4.2 on), or a JSON schema';
  if (!jsonSchema) {
    return fail('INVALID_ARGUMENT', { name: 'schema', found: `a schema of ${vendor}`, expected });
  }
  try {
    return closed(jsonSchema.input({ target: TARGET }));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return fail('INVALID_ARGUMENT', { name: 'schema', found: reason, expected }, error);
  }
}

/** Objects without other members; those of an intersection (`allOf`) stay open, or nothing could be in both. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const entries = Object.entries(schema).map(([key, value]): [string, unknown] => {
    if (HOLDS_SCHEMAS.has(key)) return [key, closed(value)];
    if (!HOLDS_NAMED_SCHEMAS.has(key)) return [key, value];
    const named = Object.entries(value as object).map(([name, of]) => [name, closed(of)]);
    return [key, Object.fromEntries(named)];
  });
  const made = Object.fromEntries(entries);
  const isOpen = 'additionalProperties' in made || !('properties' in made);
  return isOpen ? made : { ...made, additionalProperties: false };
}

/**
 * The value of a JSON text that was constrained by a schema, as a typed schema understands it, with its defaults and
 * transformations. Rejects with `VALUE_INVALID` if its own checks, which JSON Schema cannot express, refuse the value.
 */
export async function valueBy<S>(schema: S, value: unknown): Promise<ResultOf<S>> {
  if (!isTypedSchema(schema)) return value as ResultOf<S>;
  const result = await schema['~standard'].validate(value);
  if (!result.issues) return result.value as ResultOf<S>;
  return fail('VALUE_INVALID', { problems: result.issues.map(problemText).join('; ') });
}

function problemText({ path = [], message }: SchemaIssue): string {
  const names = path.map((part) => String(typeof part === 'object' ? part.key : part));
  return names.length === 0 ? message : `${names.join('.')}: ${message}`;
}

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { z } from 'zod';
import { isRocmforgeError } from '../../src/base/errors.ts';
import type { LanguageModel } from '../../src/engine/language-model.ts';
import { type FromJsonSchema, jsonSchemaOf, type ResultOf } from '../../src/engine/typed-schema.ts';
import { loadModel } from '../../src/node/load-model.ts';

let model: LanguageModel;
before(async () => {
  model = await loadModel(undefined, { device: 'cpu', context: 1024 });
});
after(() => model?.dispose());

/** True if the types are the same; a wrong one does not compile. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <T extends true>(): T => true as T;

const MESSAGES = [{ role: 'user', content: 'Name a city.' }] as const;

test('the type of a JSON schema that is written as a literal', () => {
  const person = {
    type: 'object',
    properties: {
      name: { type: 'string' },
      age: { type: ['integer', 'null'] },
      sex: { enum: ['f', 'm'] },
      friends: { type: 'array', items: { anyOf: [{ type: 'string' }, { const: 3 }] } },
      other: { $ref: '#' },
    },
    required: ['name', 'age'],
  } as const;
  interface Person {
    name: string;
    age: number | null;
    sex?: 'f' | 'm';
    friends?: (string | 3)[];
    other?: unknown;
  }
  type Found = FromJsonSchema<typeof person>;
  same<Same<Found, { [K in keyof Person]: Person[K] }>>();
  same<Same<FromJsonSchema<{ type: 'object' }>, Record<string, unknown>>>();
  same<Same<FromJsonSchema<Record<string, unknown>>, unknown>>();
  same<Same<ResultOf<unknown>, unknown>>();
});

test('an answer has the type of its schema: typed, or a JSON schema', async () => {
  const city = z.object({
    city: z.string().max(12),
    size: z.enum(['small', 'large']).transform((size) => size.length),
  });
  const typed = await model.chat(MESSAGES, { schema: city, maxTokens: 80 }).json();
  same<Same<typeof typed, { city: string; size: number }>>();
  assert.ok(typed.city.length <= 12);
  assert.equal(typed.size, 5, 'both words have five letters: the transformation was applied');
  const plain = await model
    .chat(MESSAGES, {
      schema: {
        type: 'object',
        properties: { yes: { type: 'boolean' } },
        required: ['yes'],
        additionalProperties: false,
      },
      maxTokens: 20,
    })
    .json();
  same<Same<typeof plain, { yes: boolean }>>();
  assert.equal(typeof plain.yes, 'boolean');
  const continued = await model.generate('Yes or no: ', { schema: z.boolean(), maxTokens: 8 }).json();
  same<Same<typeof continued, boolean>>();
  const untyped = model.chat(MESSAGES, { json: true, maxTokens: 1 });
  same<Same<Awaited<ReturnType<typeof untyped.json>>, unknown>>();
});

test('objects of a typed schema are closed, but not those of an intersection', () => {
  const inner = z.object({ a: z.string().optional() });
  assert.deepEqual(jsonSchemaOf(z.object({ list: z.array(inner), open: z.looseObject({ b: z.null() }) })), {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: {
      list: {
        type: 'array',
        items: { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: false },
      },
      open: {
        type: 'object',
        properties: { b: { type: 'null' } },
        required: ['b'],
        additionalProperties: {},
      },
    },
    required: ['list', 'open'],
    additionalProperties: false,
  });
  const parts = [
    { type: 'object', properties: { a: {} } },
    { type: 'object', properties: { b: {} } },
  ];
  const standard = {
    version: 1 as const,
    vendor: 'own',
    validate: (value: unknown) => ({ value }),
    jsonSchema: { input: () => ({ anyOf: [{ allOf: parts }, parts[0]] }) },
  };
  const [both, one] = (jsonSchemaOf({ '~standard': standard }) as { anyOf: object[] }).anyOf;
  assert.deepEqual(both, { allOf: parts });
  assert.deepEqual(one, { ...parts[0], additionalProperties: false });
  const own = { type: 'object', properties: {} };
  assert.equal(jsonSchemaOf(own), own);
});

test('checks that JSON Schema cannot express, and schemas that cannot be written, are refused', async () => {
  const never = z.boolean().refine(() => false, 'never right');
  const refused = model.generate('Yes or no: ', { schema: never, maxTokens: 8 }).json();
  await assert.rejects(refused, (error) => {
    return isRocmforgeError(error, 'VALUE_INVALID') && error.message.includes('never right');
  });
  const is = (error: unknown) => isRocmforgeError(error, 'INVALID_ARGUMENT');
  assert.throws(() => model.chat(MESSAGES, { schema: z.date() }), is);
  const old = { '~standard': { version: 1, vendor: 'old', validate: () => ({ value: 1 }) } };
  assert.throws(() => model.chat(MESSAGES, { schema: old }), is);
});

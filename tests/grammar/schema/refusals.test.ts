import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRocmforgeError } from '../../../src/base/errors.ts';
import { schemaGrammar } from '../../../src/grammar/index.ts';

/** Schemas that are refused, with the keyword and the place that the error names. */
const UNSUPPORTED: readonly (readonly [schema: unknown, keyword: string, pointer: string])[] = [
  [{ $ref: 'https://example.com/other.json' }, '$ref', '/$ref'],
  [{ properties: { a: { $ref: 'other.json#/$defs/x' } } }, '$ref', '/properties/a/$ref'],
  [{ $schema: 'https://example.com/dialect' }, '$schema', '/$schema'],
  [{ items: { $recursiveRef: '#' } }, '$recursiveRef', '/items/$recursiveRef'],
  [{ properties: { 'a/b': { pattern: '(?<=a)b' } } }, 'pattern', '/properties/a~1b/pattern'],
  [{ pattern: '(((((\\ba){0,9}b){0,9}c){0,9}d){0,9}e){0,9}' }, 'pattern', '/pattern'],
  [{ patternProperties: { '(a)\\1': {} } }, 'patternProperties', '/patternProperties/(a)\\1'],
  [{ type: 'array', uniqueItems: true }, 'uniqueItems', '/uniqueItems'],
  [{ type: 'array', items: { type: 'object' }, uniqueItems: true }, 'uniqueItems', '/uniqueItems'],
  [{ not: { patternProperties: { '^a': { type: 'string' } } } }, 'not', '/not'],
  [
    { oneOf: [{ additionalProperties: { type: 'string' } }, { additionalProperties: { minLength: 1 } }] },
    'oneOf',
    '/oneOf',
  ],
  [{ if: { patternProperties: { a: { const: 1 } } }, then: { maxProperties: 1 } }, 'if', '/if'],
  [
    {
      $defs: { a: { $id: 'a', $dynamicAnchor: 'x' }, b: { $dynamicAnchor: 'x', $dynamicRef: '#x' } },
      $ref: '#/$defs/b',
    },
    '$dynamicRef',
    '/$defs/b/$dynamicRef',
  ],
];

for (const [schema, keyword, pointer] of UNSUPPORTED) {
  test(`${JSON.stringify(schema)} is refused for ${keyword}`, () => {
    assert.throws(
      () => schemaGrammar(schema),
      (error) => {
        assert.ok(isRocmforgeError(error, 'SCHEMA_UNSUPPORTED'), String(error));
        assert.deepEqual([error.params.keyword, error.params.pointer], [keyword, pointer]);
        return error.message.includes(keyword) && error.message.includes(pointer);
      },
    );
  });
}

test('a format that is not known is refused where formats are assertions', () => {
  assert.ok(schemaGrammar({ format: 'color' }));
  assert.throws(
    () => schemaGrammar({ format: 'color' }, { formats: 'assertion' }),
    (error) => isRocmforgeError(error, 'SCHEMA_UNSUPPORTED') && error.params.pointer === '/format',
  );
});

/** Values that are no schema, or that nothing satisfies, with what the error says. */
const INVALID: readonly (readonly [schema: unknown, reason: RegExp])[] = [
  [42, /expected a schema/],
  [{ type: 'text' }, /"\/type": found "text"/],
  [{ type: [], minimum: 'a' }, /"\/minimum"/],
  [{ minLength: -1 }, /"\/minLength"/],
  [{ minLength: 1.5 }, /"\/minLength"/],
  [{ exclusiveMinimum: true }, /"\/exclusiveMinimum": found true, expected a number/],
  [{ multipleOf: 0 }, /"\/multipleOf"/],
  [{ required: 'a' }, /"\/required"/],
  [{ enum: 'a' }, /"\/enum"/],
  [{ anyOf: [] }, /"\/anyOf"/],
  [{ anyOf: [{}, 3] }, /"\/anyOf\/1"/],
  [{ properties: { a: 3 } }, /"\/properties\/a"/],
  [{ pattern: '(' }, /"\/pattern"/],
  [{ $ref: '#/$defs/none' }, /nothing at "\/\$defs\/none"/],
  [{ $ref: '#none' }, /no anchor "none"/],
  [{ $ref: '#' }, /refers to itself/],
  [
    { $defs: { a: { allOf: [{ $ref: '#/$defs/b' }] }, b: { $ref: '#/$defs/a' } }, $ref: '#/$defs/a' },
    /refers to itself/,
  ],
  [false, /no value/],
  [{ enum: [] }, /no value/],
  [{ type: 'integer', minimum: 1.1, maximum: 1.9 }, /no value/],
  [{ type: 'string', minLength: 3, maxLength: 2 }, /no value/],
  [{ type: 'string', pattern: '^a$', minLength: 2 }, /no value/],
  [{ type: 'object', required: ['a'], properties: { a: { $ref: '#' } } }, /no value/],
  [{ type: 'object', required: ['a'], additionalProperties: false }, /no value/],
  [{ type: 'array', items: { enum: [1, 2] }, minItems: 3, uniqueItems: true }, /no value/],
  [{ type: 'array', items: false, minItems: 1 }, /no value/],
  [{ const: Number.NaN }, /NaN/],
  [{ default: () => 1 }, /expected a value of JSON/],
  [{ const: new Date() }, /object of a class/],
  [{ const: '\ud800' }, /surrogate/],
];

for (const [schema, reason] of INVALID) {
  test(`${JSON.stringify(schema)} is no schema that anything satisfies`, () => {
    assert.throws(
      () => schemaGrammar(schema),
      (error) => isRocmforgeError(error, 'GRAMMAR_INVALID') && reason.test(error.message),
    );
  });
}

test('a schema that is too large, too deep or a circle is refused', () => {
  let deep: unknown = {};
  for (let level = 0; level < 100; level++) deep = { items: deep };
  const circle: Record<string, unknown> = {};
  circle['items'] = circle;
  for (const schema of [
    deep,
    circle,
    { enum: Array.from({ length: 300_000 }, (_, at) => at) },
    { title: 'x'.repeat(5_000_000) },
  ]) {
    assert.throws(
      () => schemaGrammar(schema),
      (error) => isRocmforgeError(error, 'GRAMMAR_INVALID'),
    );
  }
});

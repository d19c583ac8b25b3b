import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  jsonGrammar,
  PreparedVocabulary,
  schemaGrammar,
  TokenGrammar,
  type SchemaOptions,
} from '../../../src/grammar/index.ts';
import { byteGrammar, isText } from '../../support/grammar/byte-matcher.ts';
import { vocabularyTokenizer } from '../../support/vocabularies.ts';

interface Case {
  readonly schema: unknown;
  readonly accept: readonly string[];
  readonly reject: readonly string[];
  readonly options?: SchemaOptions;
}

const CASES: Readonly<Record<string, Case>> = {
  'a number between bounds': {
    schema: { type: 'number', minimum: 0, maximum: 1 },
    accept: ['0', '0.5', '1', '1.0', '0.999', '5e-7', '0.0'],
    reject: ['1.5', '-0.5', '2', '1.01', '01', '.5', '-0', '1e5', '"0"'],
  },
  'integers between bounds': {
    schema: { type: 'integer', minimum: 2, exclusiveMaximum: 151 },
    accept: ['2', '9', '10', '99', '150'],
    reject: ['1', '0', '-2', '151', '200', '2.5', '1000', '02'],
  },
  'a number above zero': {
    schema: { exclusiveMinimum: 0 },
    accept: ['0.001', '1', '"a"', 'null', '{}'],
    reject: ['0', '0.0', '-1', '-0'],
  },
  'negative decimals': {
    schema: { type: 'number', minimum: -1.25, maximum: -0.5 },
    accept: ['-1.25', '-1', '-0.5', '-0.50', '-1.249'],
    reject: ['-1.26', '-0.49', '0', '1', '-1.2501'],
  },
  'decimal steps between bounds': {
    schema: { type: 'number', multipleOf: 0.05, minimum: 0.1, maximum: 10 },
    accept: ['0.1', '0.15', '9.95', '10', '3', '1.50'],
    reject: ['0.05', '0.12', '10.05', '11'],
  },
  'names that have to be escaped': {
    schema: {
      type: 'object',
      properties: { 'a"b': { const: 1 }, 'c\\d': { const: 2 }, 'e\n': { const: 3 }, '': { const: 4 } },
      additionalProperties: false,
    },
    accept: ['{"a\\"b":1,"c\\\\d":2,"e\\n":3,"":4}', '{"":4}', '{}'],
    reject: ['{"a\\"b":2}', '{"x":1}', '{"c\\\\d":2,"a\\"b":1}'],
  },
  'keys come once': {
    schema: { type: 'object', properties: { a: { type: 'integer' } } },
    accept: ['{"a":1,"b":2,"c":3}', '{"b":2}'],
    reject: ['{"a":1,"a":2}', '{"b":1,"b":2}', '{"a":1,"\\u0061":"x"}', '{"a":"x"}'],
  },
  'required names that nothing declares': {
    schema: { type: 'object', required: ['x', 'y'] },
    accept: ['{"x":1,"y":2}', '{"y":1,"x":2}', '{"z":0,"y":1,"x":2}'],
    reject: ['{"x":1}', '{}', '{"z":1,"y":2}'],
  },
  'a list item as a reference': {
    schema: {
      prefixItems: [{ type: 'integer' }, { $ref: '#/prefixItems/0' }],
      $defs: { 'a b/c~d%': { type: 'null' } },
      items: { $ref: '#/$defs/a%20b~1c~0d%25' },
    },
    accept: ['[1,2,null]', '[]', '"x"'],
    reject: ['[1,"x"]', '[1,2,3]'],
  },
  'keywords beside a reference': {
    schema: { $ref: '#/$defs/name', maxLength: 3, $defs: { name: { type: 'string', minLength: 2 } } },
    accept: ['"ab"', '"abc"'],
    reject: ['"a"', '"abcd"', '12'],
  },
  'several patterns and lengths, in code points': {
    schema: { type: 'string', allOf: [{ pattern: 'a' }, { pattern: '^.b' }], minLength: 3, maxLength: 4 },
    accept: ['"abc"', '"😀ba"', '"aba😀"'],
    reject: ['"ab"', '"bab"', '"abcde"', '"xbc"'],
  },
  'a password by lookaheads': {
    schema: { type: 'string', pattern: '^(?=.*[A-Z])(?=.*\\d).{6,}$' },
    accept: ['"abcD1x"', '"1AAAAA"'],
    reject: ['"abcdef1"', '"A1"', '"ABCDEF"'],
  },
  'alternatives beside properties': {
    schema: {
      type: 'object',
      properties: { a: { type: 'integer' }, b: { type: 'integer' } },
      anyOf: [{ required: ['a'] }, { required: ['b'] }],
    },
    accept: ['{"a":1}', '{"b":1}', '{"a":1,"b":2}'],
    reject: ['{}', '{"c":1}', '{"a":"x"}'],
  },
  'alternatives that a member tells': {
    schema: {
      oneOf: [
        { type: 'object', properties: { kind: { const: 'a' }, n: { type: 'integer' } }, required: ['kind'] },
        {
          type: 'object',
          properties: { kind: { enum: ['b', 'c'] }, n: { type: 'string' } },
          required: ['kind'],
        },
      ],
    },
    accept: ['{"kind":"a","n":1}', '{"kind":"c","n":"x"}'],
    reject: ['{"kind":"a","n":"x"}', '{"kind":"d"}', '{}'],
  },
  'exactly one of two ranges': {
    schema: {
      type: 'integer',
      oneOf: [
        { minimum: 0, maximum: 10 },
        { minimum: 5, maximum: 20 },
      ],
    },
    accept: ['0', '4', '11', '20'],
    reject: ['5', '10', '21', '-1'],
  },
  'conditions on a constant': {
    schema: {
      type: 'object',
      properties: { country: { enum: ['US', 'NL'] }, code: { type: 'string' } },
      required: ['country', 'code'],
      if: { properties: { country: { const: 'US' } } },
      then: { properties: { code: { pattern: '^\\d{5}$' } } },
      else: { properties: { code: { pattern: '^\\d{4}[A-Z]{2}$' } } },
    },
    accept: ['{"country":"US","code":"12345"}', '{"country":"NL","code":"1234AB"}'],
    reject: ['{"country":"US","code":"1234AB"}', '{"country":"NL","code":"12345"}'],
  },
  'members that ask for others': {
    schema: {
      type: 'object',
      properties: { a: {}, b: {}, c: {} },
      dependentRequired: { c: ['a'], a: ['b'] },
      additionalProperties: false,
    },
    accept: ['{}', '{"b":1}', '{"a":1,"b":1}', '{"a":1,"b":1,"c":1}'],
    reject: ['{"a":1}', '{"c":1}', '{"b":1,"c":1}'],
  },
  'a number of members': {
    schema: { type: 'object', properties: { a: {}, b: {} }, minProperties: 2, maxProperties: 3 },
    accept: ['{"a":1,"b":1}', '{"a":1,"x":1}', '{"x":1,"y":1,"z":1}'],
    reject: ['{}', '{"a":1}', '{"a":1,"b":1,"x":1,"y":1}'],
  },
  'names by patterns': {
    schema: {
      patternProperties: { '^n_': { type: 'number' }, x$: { minimum: 5 } },
      additionalProperties: { type: 'string' },
      propertyNames: { maxLength: 4 },
    },
    accept: ['{"n_x":5,"s":"t"}', '{"n_a":1}', '{"ax":"any"}'],
    reject: ['{"n_x":4}', '{"n_a":"t"}', '{"s":1}', '{"n_abc":1}'],
  },
  'items that are unlike': {
    schema: { type: 'array', items: { enum: ['a', 'b', 1] }, uniqueItems: true },
    accept: ['[]', '["a","b",1]', '[1]'],
    reject: ['["a","a"]', '[1,"a",1]', '["a","b",1,"a"]'],
  },
  'numbers that are unlike': {
    schema: { type: 'array', items: { type: 'number' }, uniqueItems: true },
    accept: ['[1,1.5,2]', '[10,1]'],
    reject: ['[1,1]', '[1,1.0]', '[0,-0]'],
  },
  'items that have to be there': {
    schema: { type: 'array', contains: { type: 'string' }, minContains: 2, maxContains: 3, maxItems: 5 },
    accept: ['["a","b"]', '[1,"a",2,"b",3]', '["a","b","c"]'],
    reject: ['["a"]', '["a","b","c","d"]', '[1,2]', '[1,2,3,4,"a","b"]'],
  },
  'a constant object in any order': {
    schema: { const: { b: 1, a: [null] } },
    accept: ['{"b":1,"a":[null]}', '{"a":[null],"b":1}'],
    reject: ['{"b":1}', '{}'],
  },
  'types in a list': {
    schema: { type: ['integer', 'null'], minimum: 3 },
    accept: ['3', 'null'],
    reject: ['2', '"3"', '3.5'],
  },
  'recursion through lists': {
    schema: {
      type: 'object',
      properties: { v: { type: 'integer' }, kids: { type: 'array', items: { $ref: '#' } } },
      required: ['v'],
      additionalProperties: false,
    },
    accept: ['{"v":1,"kids":[{"v":2},{"v":3,"kids":[]}]}'],
    reject: ['{"kids":[]}', '{"v":1,"kids":[{}]}'],
  },
  'the spacing that models write': {
    schema: { type: 'object', properties: { a: { type: 'array', items: { type: 'integer' } } } },
    accept: ['{"a":[1,2]}', '{"a": [1, 2]}', '{\n  "a": [\n    1,\n    2\n  ]\n}', '{ "a": [ 1 ] }'],
    reject: ['{"a":\n[1]}', '{"a" :[1]}', ' {"a":[1]}', '{"a":  [1]}'],
  },
  'no spacing': {
    schema: { items: { type: 'integer' } },
    options: { whitespace: 'compact' },
    accept: ['[1,2]'],
    reject: ['[1, 2]'],
  },
  'spacing anywhere': {
    schema: { items: { type: 'integer' } },
    options: { whitespace: 'flexible' },
    accept: [' [ 1 ,\t2 ]\n', '[1,2]'],
    reject: [`[${' '.repeat(40)}1]`],
  },
  'formats where they are asked for': {
    schema: { type: 'string', format: 'date' },
    options: { formats: 'assertion' },
    accept: ['"2024-02-29"', '"2000-02-29"'],
    reject: ['"2023-02-29"', '"1900-02-29"', '"2024-13-01"', '"today"'],
  },
  'spellings of a text': {
    schema: { type: 'string', maxLength: 2 },
    accept: ['"\\u00e9\\n"', '"\\ud83d\\ude00x"', '"/\\/"'],
    reject: ['"\\u00e9ab"', '"\\ud83d"', '"\\x"', '"\t"'],
  },
  'a letter far from the end of a long text': {
    schema: { type: 'string', pattern: '^[^x]*y.{3,400}$', maxLength: 2000 },
    accept: ['"yabc"', '"yyyy"', `"${'a'.repeat(1500)}yaxx${'y'.repeat(9)}"`, `"y${'b'.repeat(400)}"`],
    reject: ['"yab"', '"xyabc"', `"y${'b'.repeat(401)}"`, `"${'y'.repeat(2001)}"`, '"abcd"'],
  },
  'names of prototypes': {
    schema: {
      type: 'object',
      properties: { constructor: { type: 'integer' } },
      required: ['toString'],
      additionalProperties: { type: 'null' },
    },
    accept: ['{"constructor":1,"toString":null}'],
    reject: ['{"constructor":1}', '{}'],
  },
};

for (const [name, { schema, accept, reject, options }] of Object.entries(CASES)) {
  test(name, () => {
    const grammar = byteGrammar(schemaGrammar(schema, options));
    for (const text of accept) assert.ok(isText(grammar, text), `accepts ${text}`);
    for (const text of reject) assert.ok(!isText(grammar, text), `rejects ${text}`);
  });
}

test('any JSON, and any object', () => {
  const value = byteGrammar(jsonGrammar());
  const object = byteGrammar(jsonGrammar('object'));
  for (const text of ['null', '[1,{"a":[]}]', '"x"', '-1.5e-10', '{}']) {
    assert.ok(isText(value, text), text);
    assert.equal(isText(object, text), text.startsWith('{'), text);
  }
  for (const text of ['', '{"a"}', '[1,]', '{"a":1,}', 'nul', "'a'"]) assert.ok(!isText(value, text), text);
});

test('masks of a pattern that counts far from the end, in a text whose length is counted too', async () => {
  const tokenizer = await vocabularyTokenizer('gpt-2');
  const vocabulary = new PreparedVocabulary({
    size: tokenizer.vocabularySize,
    endOfGeneration: new Set(tokenizer.special.endOfGeneration),
    kind: (id) => (tokenizer.isControl(id) ? 'control' : 'text'),
    bytes: (id) => tokenizer.tokenBytes(id),
  });
  const schema = { type: 'string', pattern: '^[^x]*y.{3,400}$', maxLength: 2000 };
  const matcher = new TokenGrammar(schemaGrammar(schema), vocabulary).matcher();
  const mask = new Int32Array(vocabulary.words);
  const isAllowed = (id = 0): boolean => ((mask[id >>> 5] ?? 0) & (1 << (id & 31))) !== 0;
  const idOf = (text: string): number | undefined => tokenizer.encode(text, { addSpecial: false })[0];
  let read = '';
  for (const id of tokenizer.encode('"my day is xylophones', { addSpecial: false })) {
    assert.ok(matcher.fill(mask));
    assert.ok(isAllowed(id), `${tokenizer.tokenText(id)} behind ${read}`);
    assert.equal(isAllowed(idOf('x')), read.includes('y'), `x behind ${read}`);
    assert.equal(isAllowed(idOf('"')), read === '' || /y...+/.test(read), `the end behind ${read}`);
    matcher.accept(id);
    read += tokenizer.tokenText(id);
  }
});

test('members in any order are written as far as there is room, and then in one order', () => {
  const names = Array.from({ length: 10 }, (_, at) => `n${at}`);
  const value = (of: number) => Object.fromEntries(names.map((name) => [name, of]));
  const schema = {
    anyOf: [
      { dependentSchemas: Object.fromEntries(names.map((name) => [name, { required: [`${name}x`] }])) },
      { enum: Array.from({ length: 40 }, (_, at) => value(at)) },
    ],
    type: 'object',
  };
  const grammar = byteGrammar(schemaGrammar(schema));
  for (const at of [0, 39]) assert.ok(isText(grammar, JSON.stringify({ ...value(at) })), String(at));
  for (const right of ['{}', '{"a":1}', '{"n3":1,"n3x":2}']) assert.ok(isText(grammar, right), right);
  for (const wrong of ['{"n3":1}', '{"n3":1,"n4x":1}']) assert.ok(!isText(grammar, wrong), wrong);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Grammar, type Rule, schemaGrammar } from '../../../src/grammar/index.ts';
import { byteGrammar, isText } from '../../support/grammar/byte-matcher.ts';

/** The rules in a rule that are made later, and in the rules that it names. */
function latersIn(grammar: Grammar, rule: Rule, seen = new Set<Rule>()): number {
  if (seen.has(rule)) return 0;
  seen.add(rule);
  const all = (rules: readonly Rule[]): number =>
    rules.reduce((sum, one) => sum + latersIn(grammar, one, seen), 0);
  switch (rule.kind) {
    case 'later':
      return 1;
    case 'sequence':
    case 'choice':
      return all(rule.parts);
    case 'repeat':
    case 'scope':
      return all([rule.part]);
    case 'members':
      return all([...rule.members.map(({ value }) => value), ...(rule.other ? [rule.other] : [])]);
    case 'reference':
      return all([grammar.rules.get(rule.name) as Rule]);
    default:
      return 0;
  }
}

/** How many values of the members of an object with one of this schema are written later. */
function laters(schema: unknown, $defs: object = {}): number {
  const grammar = schemaGrammar({
    $defs,
    properties: { a: schema },
    required: ['a'],
    additionalProperties: false,
    type: 'object',
  });
  return latersIn(grammar, grammar.rules.get(grammar.root) as Rule);
}

const TREE = {
  type: 'object',
  properties: { value: { type: 'number' }, children: { type: 'array', items: { $ref: '#/$defs/tree' } } },
  required: ['value', 'children'],
};

const PLAIN: readonly unknown[] = [
  true,
  { type: ['string', 'null'], description: 'a text' },
  { enum: ['a', 1, null] },
  { const: false },
  { type: 'integer', minimum: 1, maximum: 9 },
  { type: 'number', multipleOf: 0.01 },
  { type: 'string', minLength: 2, maxLength: 9 },
  { type: 'string', pattern: '^[a-z]+$' },
  { type: 'string', format: 'date' },
  { type: 'array', items: { type: 'string' }, minItems: 1 },
  { prefixItems: [{ const: 1 }, { const: 2 }], items: false },
  { type: 'object', properties: { b: { type: 'null' } }, required: ['b'], additionalProperties: false },
  { anyOf: [{ $ref: '#/$defs/tree' }, { type: 'null' }] },
  { allOf: [{ $ref: '#/$defs/tree' }], description: 'a tree' },
];

/** What hangs on more than one keyword, or on nothing that a look tells. */
const OTHERS: readonly unknown[] = [
  { type: 'integer', minimum: 1.1, maximum: 2.9 },
  { type: 'string', pattern: '^a+$', minLength: 2 },
  { type: 'string', pattern: '^(?!a)b' },
  { type: 'string', enum: ['a', 1] },
  { type: 'object', patternProperties: { '^a': { type: 'null' } } },
  { type: 'object', required: ['b'] },
  { type: 'array', items: { enum: [1, 2] }, uniqueItems: true },
  { type: 'array', items: { not: { type: 'string' } } },
  {
    type: 'object',
    properties: { tree: { $ref: '#/$defs/tree' }, b: { type: 'string', pattern: '^a', minLength: 2 } },
  },
  { oneOf: [{ type: 'string' }, { type: 'null' }] },
  {
    type: 'object',
    properties: Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`p${at}`, true])),
  },
];

test('what a look at the keywords tells is written later', () => {
  for (const schema of PLAIN) assert.equal(laters(schema, { tree: TREE }), 1, JSON.stringify(schema));
});

test('what is said otherwise is written at once, but for the plain parts of it', () => {
  const counts = OTHERS.map((schema) => laters(schema, { tree: TREE }));
  // Any value at all, as an item and behind a colon, what a list or members hold, and the tree.
  assert.deepEqual(counts, [0, 0, 0, 0, 2, 1, 0, 2, 2, 0, 1]);
});

test('what has no value is left out, however plain its keywords are', () => {
  const schema = {
    type: 'object',
    properties: {
      endless: { $ref: '#/$defs/endless' },
      other: { $ref: '#/$defs/other' },
      list: { type: 'array', items: { $ref: '#/$defs/endless' } },
    },
    additionalProperties: false,
    $defs: {
      endless: { type: 'object', properties: { next: { $ref: '#/$defs/other' } }, required: ['next'] },
      other: { anyOf: [{ $ref: '#/$defs/endless' }] },
    },
  };
  const grammar = byteGrammar(schemaGrammar(schema));
  for (const right of ['{}', '{"list":[]}']) assert.ok(isText(grammar, right), right);
  for (const wrong of ['{"endless"', '{"other"', '{"list":[{']) {
    const matcher = grammar.matcher();
    assert.ok(![...Buffer.from(wrong)].every((byte) => matcher.tryAccept(byte)), wrong);
  }
});

test('members that others ask for are watched among runs of those that nobody does', () => {
  const schema = {
    type: 'object',
    properties: Object.fromEntries([...'abcdefgh'].map((name) => [name, { const: 1 }])),
    required: ['d'],
    dependentRequired: { b: ['f'], g: ['a'] },
  };
  for (const additionalProperties of [true, false]) {
    const grammar = byteGrammar(schemaGrammar({ ...schema, additionalProperties }));
    const isLetThrough = (names: string): boolean =>
      isText(grammar, JSON.stringify(Object.fromEntries([...names].map((name) => [name, 1]))));
    for (const right of ['d', 'ad', 'cdeh', 'bdf', 'abcdefgh', 'adg', 'def', 'adfgh'])
      assert.ok(isLetThrough(right), right);
    // One is missing that is required, or asked for, or they are out of order.
    for (const wrong of ['', 'ce', 'bd', 'bdeh', 'dg', 'cdegh', 'abdg', 'dc', 'fbd'])
      assert.ok(!isLetThrough(wrong), wrong);
    assert.equal(isLetThrough('dhx'), additionalProperties);
  }
});

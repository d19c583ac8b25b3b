import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { type Grammar, schemaGrammar } from '../../../src/grammar/index.ts';
import { byteGrammar, isText } from '../../support/grammar/byte-matcher.ts';

const tagged = (kind: object, properties: object = {}, more: object = {}) => ({
  type: 'object',
  properties: { kind, ...properties },
  required: ['kind'],
  ...more,
});

const CLOSED = { additionalProperties: false };

const SCHEMA = {
  anyOf: [
    tagged(
      { const: 'point' },
      { x: { type: 'number' }, y: { type: 'number' } },
      { required: ['kind', 'y'], ...CLOSED },
    ),
    tagged({ enum: ['line', 'ray'] }, { points: { type: 'array', items: { $ref: '#' } } }, CLOSED),
    tagged({ const: 'line' }, { width: { type: 'integer', minimum: 1 } }, CLOSED),
    tagged({ const: 'any "thing"' }),
    tagged({ const: 'nothing' }, {}, CLOSED),
    tagged({ const: 'texts' }, {}, { additionalProperties: { type: 'string' } }),
    tagged({ type: 'integer' }, {}, CLOSED),
    {
      type: 'object',
      properties: { x: { const: 0 }, kind: { const: 'late' } },
      required: ['kind'],
      ...CLOSED,
    },
  ],
};

const VALUES: readonly unknown[] = [
  { kind: 'point', y: 1 },
  { kind: 'point', x: 1, y: 2.5 },
  { kind: 'point', x: 1 },
  { kind: 'point' },
  { kind: 'point', y: 1, z: 1 },
  { kind: 'line' },
  { kind: 'line', points: [] },
  { kind: 'line', points: [{ kind: 'point', y: 0 }] },
  { kind: 'line', width: 2 },
  { kind: 'line', width: 0 },
  { kind: 'line', points: [], width: 1 },
  { kind: 'ray', points: [{ kind: 'nothing' }] },
  { kind: 'ray', width: 1 },
  { kind: 'any "thing"' },
  { kind: 'any "thing"', more: { kind: 1 } },
  { kind: 'nothing' },
  { kind: 'nothing', x: 1 },
  { kind: 'texts', a: 'a', b: 'b' },
  { kind: 'texts', a: 1 },
  { kind: 1 },
  { kind: 'other' },
  { x: 0, kind: 'late' },
  { x: 1, kind: 'late' },
  {},
];

function countLaters(grammar: Grammar): number {
  const shown = JSON.stringify([...grammar.rules.values()]);
  return shown.split('"kind":"later"').length - 1;
}

test('objects that a first member tells apart are those of their schemas', () => {
  const isValid = new Ajv2020({ strict: false }).compile(SCHEMA);
  const grammar = byteGrammar(schemaGrammar(SCHEMA));
  for (const value of VALUES) {
    for (const text of [JSON.stringify(value), JSON.stringify(value, null, 2)])
      assert.equal(isText(grammar, text), isValid(value), text);
  }
  for (const twice of ['{"kind":"texts","kind":"texts"}', '{"kind":"any \\"thing\\"","a":1,"a":2}'])
    assert.equal(isText(grammar, twice), false, twice);
});

test('of a thousand alternatives nothing is written but their tags', () => {
  const anyOf = Array.from({ length: 1000 }, (_, at) =>
    tagged({ const: `kind ${at}` }, { x: { minimum: at } }, CLOSED),
  );
  for (const word of ['anyOf', 'oneOf']) {
    const source = schemaGrammar({ [word]: anyOf });
    assert.ok(source.rules.size < 10, `${source.rules.size} rules`);
    assert.equal(countLaters(source), 1000);
    const grammar = byteGrammar(source);
    assert.ok(isText(grammar, '{"kind": "kind 999", "x": 999}'));
    assert.ok(!isText(grammar, '{"kind":"kind 999","x":998}'));
  }
});

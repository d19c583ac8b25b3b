import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { loadModel } from '../../src/index.ts';
import { ModelText } from '../../src/engine/model-text.ts';
import type { GgufFile } from '../../src/gguf/index.ts';
import { metadataOf } from '../support/metadata.ts';
import { BUNDLED } from '../support/run-cli.ts';

const SCHEMAS: readonly object[] = [
  {
    type: 'object',
    properties: {
      name: { type: 'string', maxLength: 12 },
      age: { type: 'integer', minimum: 0, maximum: 150 },
      tags: { type: 'array', items: { enum: ['a', 'b'] }, uniqueItems: true, maxItems: 2 },
    },
    required: ['name', 'age', 'tags'],
    additionalProperties: false,
  },
  {
    type: 'array',
    items: { type: 'number', multipleOf: 0.5, minimum: -3, maximum: 3 },
    minItems: 2,
    maxItems: 3,
  },
  { type: 'string', pattern: '^[a-c]{2,4}$' },
  { oneOf: [{ const: 'yes' }, { const: 'no' }] },
];

test('answers satisfy their schemas, whatever is drawn', async () => {
  await using model = await loadModel(BUNDLED, { device: 'cpu', threads: 1, context: 512, sequences: 4 });
  const ajv = new Ajv2020({ strict: false });
  const messages = [{ role: 'user', content: 'Describe somebody.' }] as const;
  const drawn = SCHEMAS.flatMap((schema) => [1, 2].map((seed) => ({ schema, seed })));
  await Promise.all(
    drawn.map(async ({ schema, seed }) => {
      const stream = model.chat(messages, { schema, seed, temperature: 1.5, maxTokens: 200 });
      const value = await stream.json();
      assert.ok(ajv.validate(schema, value), JSON.stringify(value));
      assert.equal(stream.end.reason, 'stop');
    }),
  );
  const chosen = await model.generate('Yes or no?', { choices: [' yes', ' no'], seed: 1 }).text();
  assert.ok([' yes', ' no'].includes(chosen), chosen);
  const counted = await model
    .generate('Count:', { grammar: 'root ::= "a" root? "b"', seed: 1, maxTokens: 40 })
    .text();
  assert.match(counted, /^a+b*$/);
  const phone = await model.generate('Call', { regex: '[0-9]{3}-[0-9]{4}', seed: 1, ignoreEnd: true }).text();
  assert.match(phone, /^[0-9]{3}-[0-9]{4}$/);
  const object = await model
    .chat(messages, { json: true, seed: 5, maxTokens: 8 })
    .json()
    .catch((error: unknown) => error);
  assert.ok(typeof object === 'object' && object !== null);
});

test('what contradicts itself is refused before anything runs', async () => {
  await using model = await loadModel(BUNDLED, { device: 'cpu', threads: 1, context: 64 });
  const twice = () => model.generate('a', { schema: {}, regex: 'a' });
  assert.throws(twice, { code: 'INVALID_ARGUMENT' });
  assert.throws(() => model.generate('a', { choices: [] }), { code: 'INVALID_ARGUMENT' });
  const messages = [{ role: 'user', content: 'hi' }] as const;
  assert.throws(() => model.chat(messages, { toolChoice: 'required' }), { code: 'INVALID_ARGUMENT' });
  const unsupported = model.chat(messages, { schema: { $ref: 'https://example.org/a' } }).text();
  await assert.rejects(unsupported, { code: 'SCHEMA_UNSUPPORTED' });
  const cut = model.chat(messages, { schema: { type: 'string', minLength: 50 }, maxTokens: 2 });
  await assert.rejects(cut.json(), { code: 'TEXT_NOT_JSON' });
});

test('forced calls are those of the template for tools', () => {
  const metadata = metadataOf({
    model: 'llama',
    tokens: ['<unk>', '<s>', '</s>', '▁', 'a'],
    token_type: [2, 3, 3, 1, 1],
    'tokenizer.chat_template': '{{ messages }}',
    'tokenizer.chat_template.tool_use': '{{ tools }}<|tool_call|>',
  });
  const text = new ModelText({ gguf: { metadata } as unknown as GgufFile }, {});
  const form = text.answerForm([3], {
    tools: [{ type: 'function', function: { name: 'f' } }],
    toolChoice: 'required',
  });
  assert.equal(text.dialect.name, 'granite-3');
  assert.ok(form?.kind === 'answer' && form.template.includes('<|tool_call|>'));
});

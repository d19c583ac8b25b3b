import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { ModelServer } from '../../src/server/index.ts';
import { fixture } from './fixture.ts';
import { bundledSource, post } from './test-server.ts';

const PARAMETERS = {
  type: 'object',
  properties: {
    city: { enum: ['Paris', 'Rome'] },
    days: { type: 'integer', minimum: 1, maximum: 9 },
    note: { type: 'string', maxLength: 6 },
  },
  required: ['city', 'days', 'note'],
  additionalProperties: false,
};
const TIME = {
  type: 'object',
  properties: { zone: { type: 'string', pattern: '^[A-Z]{3}$' } },
  required: ['zone'],
  additionalProperties: false,
};
const tool = (name: string, parameters: object) => ({
  type: 'function',
  function: { name, parameters, strict: true },
});
const TOOLS = [tool('get_weather', PARAMETERS), tool('get_time', TIME)];
const SCHEMAS: Readonly<Record<string, object>> = { get_weather: PARAMETERS, get_time: TIME };

interface Call {
  readonly function: { readonly name: string; readonly arguments: string };
}
interface Choice {
  readonly finish_reason: string;
  readonly message: { readonly content: string | null; readonly tool_calls?: readonly Call[] };
}

/**
 * The bundled model's own template and those of other dialects, with options that keep reasoning from filling the
 * answer.
 */
const TEMPLATES: readonly (readonly [string | undefined, object])[] = [
  [undefined, { reasoning_budget_tokens: 0 }],
  ['Qwen3-Coder.jinja', {}],
  ['meta-llama-Llama-3.1-8B-Instruct.jinja', {}],
  ['GLM-4.6.jinja', { reasoning_budget_tokens: 0 }],
];

/** Declares one test per template, with calls that are forced, named, allowed and forbidden, for each seed. */
export function testForcedCalls(seeds: readonly number[]): void {
  for (const [template, thinking] of TEMPLATES) {
    test(`calls that are asked for come and satisfy their schemas: ${template ?? 'its own template'}`, async (t) => {
      const chatTemplate = template && readFileSync(fixture(`chat-templates/${template}`), 'utf8');
      const models = [
        bundledSource({ sequences: 2, context: 2048, threads: 1, ...(chatTemplate && { chatTemplate }) }),
      ];
      const server = new ModelServer({ models, parallel: 2 });
      t.after(() => server[Symbol.asyncDispose]());
      await server.loaded;
      const ajv = new Ajv2020({ strict: false });
      const ask = async (fields: object): Promise<readonly Call[]> => {
        const messages = [{ role: 'user', content: 'How is the weather in Rome?' }];
        const request = { messages, tools: TOOLS, max_tokens: 300, temperature: 1, ...thinking };
        const response = await server.fetch(post('/v1/chat/completions', { ...request, ...fields }));
        const text = await response.text();
        assert.equal(response.status, 200, text);
        const { choices } = JSON.parse(text) as { choices: readonly Choice[] };
        const [{ message, finish_reason } = assert.fail('there is no answer')] = choices;
        const calls = message.tool_calls ?? [];
        const isCut = finish_reason === 'length';
        for (const { function: called } of isCut ? calls.slice(0, -1) : calls) {
          const schema = SCHEMAS[called.name] ?? assert.fail(called.name);
          assert.ok(ajv.validate(schema, JSON.parse(called.arguments)), called.arguments);
        }
        if (!isCut && calls.length > 0) assert.equal(finish_reason, 'tool_calls');
        return calls;
      };
      for (const seed of seeds) {
        const one = await ask({ seed, tool_choice: 'required', parallel_tool_calls: false });
        assert.equal(one.length, 1);
        assert.ok((await ask({ seed, tool_choice: 'required' })).length > 0);
        const choice = { type: 'function', function: { name: 'get_time' } };
        const named = await ask({ seed, tool_choice: choice });
        assert.deepEqual(
          named.map((call) => call.function.name),
          ['get_time'],
        );
        await ask({ seed, tool_choice: 'auto', max_tokens: 40 });
        assert.equal((await ask({ seed, tool_choice: 'none', max_tokens: 8 })).length, 0);
      }
    });
  }
}

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { isRocmforgeError } from '../../../src/base/errors.ts';
import { dialectOf, type ReasoningOptions, reasoningVariables } from '../../../src/text/index.ts';
import { fixture } from '../../support/fixture.ts';

const TEMPLATES = readdirSync(fixture('chat-templates')).filter((name) => name.endsWith('.jinja'));

function sourceOf(template: string): string {
  return readFileSync(fixture(`chat-templates/${template}.jinja`), 'utf8');
}

function variables(template: string, options: ReasoningOptions): unknown {
  const source = sourceOf(template);
  return reasoningVariables(source, dialectOf(source), options);
}

function refused(template: string, options: ReasoningOptions): void {
  assert.throws(
    () => variables(template, options),
    (error) => isRocmforgeError(error, 'REASONING_UNSUPPORTED'),
    template,
  );
}

test('reasoning is turned on and off by the variables that a template reads', () => {
  assert.deepEqual(variables('Qwen-Qwen3-0.6B', { enabled: false }), { enable_thinking: false });
  assert.deepEqual(variables('GLM-4.6', { enabled: true }), { enable_thinking: true });
  assert.deepEqual(variables('deepseek-ai-DeepSeek-V3.1', { enabled: true }), {
    enable_thinking: true,
    thinking: true,
  });
  assert.deepEqual(variables('ibm-granite-granite-3.3-2B-Instruct', { enabled: true }), { thinking: true });
  assert.deepEqual(variables('MiniMax-M3', { enabled: false }), { thinking_mode: 'disabled' });
  assert.deepEqual(variables('Cohere2MoE', { enabled: false }), { reasoning: false });
  assert.deepEqual(variables('tencent-Hy3', { enabled: false }), { reasoning_effort: 'no_think' });
  assert.deepEqual(variables('ByteDance-Seed-OSS', { enabled: false }), { thinking_budget: 0 });
});

test('effort goes to the variable that a template reads, and none turns reasoning off', () => {
  assert.deepEqual(variables('openai-gpt-oss-120b', { effort: 'high' }), { reasoning_effort: 'high' });
  assert.deepEqual(variables('Kimi-K3', { effort: 'low' }), { thinking: true, thinking_effort: 'low' });
  assert.deepEqual(variables('Qwen3.5-4B', { effort: 'none' }), { enable_thinking: false });
  assert.deepEqual(variables('ByteDance-Seed-OSS', { budget: 512 }), { thinking_budget: 512 });
});

test('what a template knows no switch for is refused', () => {
  refused('openai-gpt-oss-120b', { enabled: false });
  refused('MiniMax-M2', { enabled: false });
  refused('Qwen-Qwen3-0.6B', { effort: 'high' });
  refused('google-gemma-2-2b-it', { enabled: true });
  refused('meta-llama-Llama-3.1-8B-Instruct', { budget: 100 });
});

test('a budget of no number of tokens is refused, and no wish sets nothing', () => {
  for (const budget of [-1, 1.5, Number.NaN]) {
    assert.throws(() => variables('MiniMax-M2', { budget }), /reasoning.budget/);
  }
  for (const file of TEMPLATES) assert.deepEqual(variables(file.replace(/\.jinja$/, ''), {}), {});
});

test('a model that always thinks can be told to, and have a budget', () => {
  assert.deepEqual(variables('MiniMax-M2', { enabled: true, budget: 0 }), {});
  assert.deepEqual(variables('openai-gpt-oss-120b', { budget: 9 }), {});
});

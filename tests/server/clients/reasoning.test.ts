import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { HttpListener } from '../../../src/node/http-listener.ts';
import { ModelServer } from '../../../src/server/index.ts';
import { thinkingSource } from '../../support/thinking-model.ts';

let server: ModelServer;
let listener: HttpListener;
before(async () => {
  server = new ModelServer({ models: [thinkingSource()], parallel: 4 });
  await server.loaded;
  listener = await HttpListener.open(server.fetch, { port: 0 });
});
after(async () => {
  await listener?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
});

const openai = () => new OpenAI({ baseURL: `${listener.url}/v1`, apiKey: 'none', maxRetries: 0 });
const anthropic = () => new Anthropic({ baseURL: listener.url, apiKey: 'none', maxRetries: 0 });
const messages = [{ role: 'user' as const, content: 'What is the capital of France?' }];
const greedy = { model: 'thinking', temperature: 0, max_tokens: 48, messages };
/** What OpenAI's types know nothing of. */
type Extended = { reasoning_content?: string; content?: string | null };

test('chat completions have reasoning apart from the content, in one piece and streamed', async () => {
  const request = { ...greedy, logit_bias: { 2: -100 }, reasoning_budget_tokens: 12 };
  const whole = await openai().chat.completions.create(request);
  const message = whole.choices[0]?.message as Extended;
  assert.ok(message.reasoning_content && message.content);
  let [reasoning, text] = ['', ''];
  const streamed = {
    ...request,
    reasoning_budget_tokens: null,
    thinking_budget_tokens: 12,
    stream: true as const,
  };
  for await (const chunk of await openai().chat.completions.create(streamed)) {
    const delta = (chunk.choices[0]?.delta ?? {}) as Extended;
    assert.ok(!(delta.reasoning_content && delta.content));
    reasoning += delta.reasoning_content ?? '';
    text += delta.content ?? '';
  }
  assert.deepEqual([reasoning, text], [message.reasoning_content, message.content]);
});

test('reasoning is turned off by effort and by the template variable, and what is not known is refused', async () => {
  for (const off of [
    { reasoning_effort: 'none' as const },
    { chat_template_kwargs: { enable_thinking: false } },
  ]) {
    const { choices } = await openai().chat.completions.create({ ...greedy, ...off });
    const message = choices[0]?.message as Extended;
    assert.equal(message.reasoning_content, undefined);
    assert.notEqual(message.content, '');
  }
  for (const wrong of [
    { reasoning_effort: 'high' as const },
    { chat_template_kwargs: { enable_thinkin: true } },
  ]) {
    await assert.rejects(openai().chat.completions.create({ ...greedy, ...wrong }), OpenAI.BadRequestError);
  }
});

test('responses have a reasoning item before the message, which can be sent back', async () => {
  const request = { model: 'thinking', temperature: 0, max_output_tokens: 40, input: messages };
  const whole = await openai().responses.create(request);
  const [item] = whole.output;
  assert.ok(item?.type === 'reasoning');
  const [content] = item.content ?? [];
  assert.ok(content?.type === 'reasoning_text' && content.text !== '');
  let streamed = '';
  let done = '';
  for await (const event of await openai().responses.create({ ...request, stream: true })) {
    if (event.type === 'response.reasoning_text.delta') streamed += event.delta;
    if (event.type === 'response.reasoning_text.done') done = event.text;
  }
  assert.deepEqual([streamed, done], [content.text, content.text]);
  const again = await openai().responses.create({
    ...request,
    input: [...messages, ...whole.output, ...messages] as OpenAI.Responses.ResponseInput,
  });
  const plain = await openai().responses.create({ ...request, input: [...messages, ...messages] });
  assert.ok((again.usage?.input_tokens ?? 0) > (plain.usage?.input_tokens ?? 0) + 10);
});

test('messages have thinking blocks, with a budget, and can be told not to think', async () => {
  const request = { ...greedy, max_tokens: 40, thinking: { type: 'enabled' as const, budget_tokens: 9 } };
  const whole = await anthropic().messages.create(request);
  const [block] = whole.content;
  assert.ok(block?.type === 'thinking' && block.thinking !== '');
  let thinking = '';
  const stream = anthropic()
    .messages.stream(request)
    .on('thinking', (piece) => {
      thinking += piece;
    });
  const last = await stream.finalMessage();
  assert.equal(thinking, block.thinking);
  assert.deepEqual(last.content, whole.content);
  const off = await anthropic().messages.create({ ...greedy, thinking: { type: 'disabled' } });
  assert.ok(off.content.every(({ type }) => type === 'text'));
  const turn = { role: 'assistant' as const, content: whole.content };
  const count = (turns: Anthropic.MessageParam[]) =>
    anthropic().messages.countTokens({ model: 'thinking', messages: turns });
  const rest = whole.content.filter(({ type }) => type !== 'thinking');
  const sent = await count([...messages, turn, ...messages]);
  const without = await count([...messages, { ...turn, content: rest.length > 0 ? rest : 'x' }, ...messages]);
  assert.ok(sent.input_tokens > without.input_tokens + 5);
});

test('thinking that is not shown is carried by its signature', async () => {
  const thinking = { type: 'enabled' as const, budget_tokens: 9 };
  const request = { ...greedy, max_tokens: 40, thinking };
  const shown = await anthropic().messages.create(request);
  const omitted = { ...request, thinking: { ...thinking, display: 'omitted' as const } };
  const hidden = await anthropic().messages.create(omitted);
  const [open, closed] = [shown.content[0], hidden.content[0]];
  assert.ok(open?.type === 'thinking' && closed?.type === 'thinking');
  assert.deepEqual([closed.thinking, closed.signature], ['', open.signature]);
  assert.deepEqual((await anthropic().messages.stream(omitted).finalMessage()).content, hidden.content);
  assert.ok((shown.usage.output_tokens_details?.thinking_tokens ?? 0) >= 9);
  const count = async (content: Anthropic.ContentBlockParam[]) => {
    const turns = [...messages, { role: 'assistant' as const, content }, ...messages];
    const { input_tokens: tokens } = await anthropic().messages.countTokens({
      model: 'thinking',
      messages: turns,
    });
    return tokens;
  };
  assert.equal(await count(hidden.content), await count(shown.content));
  const foreign = { ...closed, signature: 'EqQBCgIYAhIM' };
  await assert.rejects(count([foreign]), Anthropic.BadRequestError);
  const redacted = [{ type: 'redacted_thinking' as const, data: 'x' }, ...hidden.content];
  assert.equal(await count(redacted), await count(hidden.content));
});

test('reasoning comes back sealed where a response is asked to include it', async () => {
  const request = { model: 'thinking', temperature: 0, max_output_tokens: 40, input: messages };
  const whole = await openai().responses.create({ ...request, include: ['reasoning.encrypted_content'] });
  const [item] = whole.output;
  assert.ok(item?.type === 'reasoning' && item.encrypted_content);
  assert.ok((whole.usage?.output_tokens_details.reasoning_tokens ?? 0) > 0);
  const after = async (reasoning: object) => {
    const input = [...messages, reasoning, ...whole.output.slice(1), ...messages];
    const { usage } = await openai().responses.create({ ...request, input: input as never });
    return usage?.input_tokens;
  };
  const { content: _content, ...sealed } = item;
  assert.equal(await after(sealed), await after({ ...item, encrypted_content: null }));
  await assert.rejects(after({ ...sealed, encrypted_content: 'gAAAAAB' }), OpenAI.BadRequestError);
});

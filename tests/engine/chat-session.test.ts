import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { z } from 'zod';
import { type ErrorCode, isRocmforgeError } from '../../src/base/errors.ts';
import { type ChatModel, ChatSession } from '../../src/engine/chat-session.ts';
import { ChatStream, chunkOf } from '../../src/engine/chat-stream.ts';
import type { LanguageModel } from '../../src/engine/language-model.ts';
import { tool } from '../../src/engine/tool.ts';
import { loadModel } from '../../src/node/load-model.ts';
import type { AnswerPart, ChatMessage } from '../../src/text/index.ts';

let model: LanguageModel;
before(async () => {
  model = await loadModel(undefined, { device: 'cpu', context: 1024, sequences: 2 });
});
after(() => model?.dispose());

const is = (code: ErrorCode) => (error: unknown) => isRocmforgeError(error, code);
const END = { reason: 'stop', promptTokens: 1, generatedTokens: 1, cachedTokens: 0, stop: undefined };

/** A model that gives these answers, one after another, and keeps what it was asked. */
class Scripted implements ChatModel {
  readonly asked: (readonly ChatMessage[])[] = [];
  readonly #answers: (readonly AnswerPart[])[];

  constructor(...answers: (readonly AnswerPart[])[]) {
    this.#answers = answers;
  }

  chat(messages: readonly ChatMessage[]): ChatStream {
    this.asked.push(messages);
    const parts = this.#answers.shift() ?? [];
    return new ChatStream(async function* (complete) {
      for (const part of parts) yield chunkOf([part], undefined);
      complete(END as never);
    });
  }
}

const says = (text: string): AnswerPart[] => [{ kind: 'text', text }];
function calls(...all: readonly (readonly [string, object])[]): AnswerPart[] {
  return all.flatMap(([name, args], call): AnswerPart[] => [
    { kind: 'call', call, name, id: `call${call}` },
    { kind: 'arguments', call, text: JSON.stringify(args) },
    { kind: 'end', call, outcome: 'whole' },
  ]);
}

const weather = tool({
  name: 'weather',
  description: 'The weather of a city.',
  parameters: z.object({ city: z.enum(['Paris', 'Berlin']) }),
  run: ({ city }) => ({ city, celsius: 21 }),
});

test('a session keeps the conversation, and its questions are answered as those of the model', async () => {
  const session = new ChatSession(model, { system: 'Be brief.', maxTokens: 12 });
  const first = await session.ask('What is the capital of France?').text();
  const asked = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'What is the capital of France?' },
  ];
  assert.deepEqual(session.messages, [...asked, { role: 'assistant', content: first }]);
  const second = session.ask('And of China?');
  const text = await second.text();
  const again = [...session.messages.slice(0, -1)];
  assert.equal(await model.chat(again, { maxTokens: 12 }).text(), text);
  assert.equal(second.end.promptTokens, await model.countTokens(again));
});

test('a forced call runs its function, and the model answers with the result', async () => {
  const seen: string[] = [];
  const spying = tool({
    name: 'weather',
    parameters: z.object({ city: z.enum(['Paris', 'Berlin']) }),
    run: ({ city }, { id, signal }) => {
      seen.push(city);
      return { city, celsius: 21, id: id.length > 0, aborted: signal.aborted };
    },
  });
  const session = new ChatSession(model, {
    tools: [spying],
    toolChoice: 'required',
    parallelCalls: false,
    maxTokens: 60,
  });
  const kinds: string[] = [];
  for await (const { results, text } of session.ask('How is the weather in Paris?')) {
    for (const { name, result } of results) kinds.push(`${name} ${JSON.stringify(result)}`);
    if (text !== '' && kinds.length > 0) kinds.push('text');
  }
  assert.match(
    kinds[0] ?? '',
    /^weather \{"city":"(?:Paris|Berlin)","celsius":21,"id":true,"aborted":false\}$/,
  );
  assert.equal(seen.length, 1);
  assert.deepEqual(
    session.messages.map(({ role }) => role),
    ['user', 'assistant', 'tool', 'assistant'],
  );
});

test('several calls run at the same time, and the text behind them is the answer', async () => {
  const scripted = new Scripted(
    [...says('Let me look. '), ...calls(['weather', { city: 'Paris' }], ['weather', { city: 'Berlin' }])],
    says('Both 21.'),
  );
  let running = 0;
  let most = 0;
  const slow = tool({
    name: 'weather',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    async run({ city }) {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setImmediate(resolve));
      running--;
      return `${city.toUpperCase()}: 21`;
    },
  });
  const session = new ChatSession(scripted, { tools: [slow] });
  assert.equal(await session.ask('How is the weather?').text(), 'Both 21.');
  assert.equal(most, 2);
  const results = session.messages.filter(({ role }) => role === 'tool');
  assert.deepEqual(results, [
    { role: 'tool', tool_call_id: 'call0', name: 'weather', content: 'PARIS: 21' },
    { role: 'tool', tool_call_id: 'call1', name: 'weather', content: 'BERLIN: 21' },
  ]);
  assert.deepEqual(scripted.asked[1], session.messages.slice(0, -1));
});

test("a model's mistakes go back to it; a function's errors and endless calls end the answer", async () => {
  const wrong = new Scripted(calls(['weather', { city: 'Rome' }], ['time', {}]), says('Sorry.'));
  const session = new ChatSession(wrong, { tools: [weather] });
  assert.equal(await session.ask('Rome?').text(), 'Sorry.');
  const [first, second] = session.messages.filter(({ role }) => role === 'tool');
  assert.match(first?.content as string, /"error":"the schema refuses the value: city: /);
  assert.match(second?.content as string, /there is no time/);

  const cause = new Error('no network');
  const failing = tool({ name: 'weather', run: () => Promise.reject(cause) });
  const broken = new ChatSession(new Scripted(calls(['weather', {}])), { tools: [failing] });
  await assert.rejects(
    broken.ask('Paris?').text(),
    (error) => isRocmforgeError(error, 'TOOL_FAILED') && error.cause === cause,
  );
  assert.deepEqual(broken.messages, [], 'what has no answer is not kept');
  const unwritable = tool({ name: 'weather', run: () => ({ degrees: 21n }) });
  await assert.rejects(
    new ChatSession(new Scripted(calls(['weather', {}])), { tools: [unwritable] }).ask('Paris?').text(),
    { code: 'TOOL_FAILED', message: /its result cannot be written as JSON/ },
  );

  const endless = new Scripted(...Array.from({ length: 9 }, () => calls(['weather', { city: 'Paris' }])));
  const limited = new ChatSession(endless, { tools: [weather], maxSteps: 3 });
  await assert.rejects(limited.ask('Paris?').text(), is('TOOL_STEPS'));
  assert.equal(endless.asked.length, 3);
});

test('arguments by a JSON schema are checked in any order of the members', async () => {
  const parameters = {
    type: 'object',
    properties: { a: { type: 'integer' }, b: { type: 'array', items: { enum: ['x', 'y'] } } },
    required: ['a'],
    additionalProperties: false,
  } as const;
  const sum = tool({ name: 'sum', parameters, strict: false, run: ({ a, b = [] }) => a + b.length });
  const context = { id: '1', signal: new AbortController().signal };
  assert.equal(await sum.call('{"b": ["x", "y"], "a": 3}', context), 5);
  for (const text of ['{"a": "3"}', '{"b": []}', '{"a": 1, "c": 1}', '{"a": 1', '{"a": 1, "b": ["z"]}'])
    assert.match(
      String(((await sum.call(text, context)) as { error: string }).error),
      /do not match|not JSON/,
      text,
    );
});

test('a branch goes its own way; undo, regenerate, save and load', async () => {
  const scripted = new Scripted(says('one'), says('two'), says('three'), says('four'));
  const session = new ChatSession(scripted, { system: 'S' });
  await session.ask('1?').text();
  const branch = session.fork();
  await branch.ask('2?').text();
  assert.equal(await session.regenerate().text(), 'three');
  const contents = ({ messages }: ChatSession) => messages.map(({ content }) => content);
  assert.deepEqual(contents(session), ['S', '1?', 'three']);
  assert.deepEqual(contents(branch), ['S', '1?', 'one', '2?', 'two']);
  const loaded = ChatSession.load(scripted, JSON.parse(JSON.stringify(branch.save())));
  assert.deepEqual(loaded.messages, branch.messages);
  assert.equal(loaded.undo().content, '2?');
  assert.equal(await loaded.ask('3?').text(), 'four');
  assert.deepEqual(contents(loaded), ['S', '1?', 'one', '3?', 'four']);
  loaded.clear();
  assert.deepEqual(contents(loaded), ['S']);
  assert.throws(() => loaded.undo(), is('INVALID_ARGUMENT'));
  assert.throws(() => ChatSession.load(scripted, { messages: [] } as never), is('INVALID_ARGUMENT'));
});

test('an answer that is left keeps what was said; one without a word leaves no trace', async () => {
  const session = new ChatSession(new Scripted([...says('a'), ...says('b')], []), {});
  for await (const { text } of session.ask('1?')) if (text === 'a') break;
  assert.deepEqual(session.messages.at(-1), { role: 'assistant', content: 'a' });
  const gone = AbortSignal.abort();
  const real = new ChatSession(model);
  await assert.rejects(real.ask('hi', { signal: gone }).text(), is('ABORTED'));
  assert.deepEqual(real.messages, []);
});

test('one answer at a time, and unknown options are refused', async () => {
  const session = new ChatSession(new Scripted(says('a'), says('b')));
  const first = session.ask('1?')[Symbol.asyncIterator]();
  await first.next();
  await assert.rejects(session.ask('2?').text(), is('SESSION_BUSY'));
  assert.throws(() => session.clear(), is('SESSION_BUSY'));
  await first.return();
  assert.equal(await session.ask('3?').text(), 'b');
  // @ts-expect-error: the option's name is system
  assert.throws(() => new ChatSession(model, { systemPrompt: 'x' }), is('OPTION_UNKNOWN'));
  // @ts-expect-error: the option's name is temperature
  assert.throws(() => session.ask('hi', { temperatur: 1 }), is('OPTION_UNKNOWN'));
  // @ts-expect-error: the option's name is parameters
  assert.throws(() => tool({ name: 'a', schema: {}, run: () => 1 }), is('OPTION_UNKNOWN'));
  assert.throws(() => tool({ name: 'a b', run: () => 1 }), is('INVALID_ARGUMENT'));
  assert.throws(() => session.ask('hi', { maxSteps: 0 }), is('INVALID_ARGUMENT'));
});

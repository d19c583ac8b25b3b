import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AnswerParser, type ChatTool, dialectOf } from '../../../src/text/index.ts';
import { JsonMachine } from '../../../src/text/dialects/json-machine.ts';
import { add, type ReadAnswer, readAnswer, splits } from '../../support/read-answer.ts';
import fc from '../../support/fast-check.ts';

const HERMES = dialectOf('<tool_call>');
const QWEN = dialectOf('<tool_call><parameter=');
const DEEPSEEK = dialectOf('<｜tool▁calls▁begin｜>');
const LLAMA = dialectOf('"parameters": dictionary of argument name and its value');

function tool(name: string, properties: Record<string, unknown>): ChatTool {
  return { type: 'function', function: { name, parameters: { type: 'object', properties } } };
}

const TOOLS = [
  tool('add', { a: { type: 'number' }, b: { type: 'number' } }),
  tool('write', { path: { type: 'string' }, text: { type: 'string' } }),
];

test('an unknown tool is a fault, and its text stays', () => {
  const answer = 'So: <tool_call>\n{"name": "rm", "arguments": {"x": 1}}\n</tool_call>';
  for (const pieces of splits(answer)) {
    const read = readAnswer(HERMES, pieces, { tools: TOOLS });
    assert.equal(read.text, answer);
    assert.deepEqual(read.calls, []);
    assert.deepEqual(read.faults, [{ kind: 'fault', fault: 'unknown-tool', name: 'rm' }]);
  }
});

test('what begins like a call and is none stays text, and a call behind it is one', () => {
  const call = '<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>';
  for (const pieces of splits(`A <tool_call> is a tag. ${call}`)) {
    const read = readAnswer(HERMES, pieces, { tools: TOOLS });
    assert.equal(read.text, 'A <tool_call> is a tag.');
    assert.deepEqual(read.calls, [{ name: 'add', arguments: '{"a": 1}', outcome: 'whole' }]);
    assert.deepEqual(
      read.faults.map(({ fault }) => fault),
      ['malformed'],
    );
  }
});

test('a call that is cut off says so, and one that is malformed gives what is behind as text', () => {
  const cut = readAnswer(HERMES, ['<tool_call>{"name": "add", "arguments": {"a": 1'], { tools: TOOLS });
  assert.deepEqual(cut.calls, [{ name: 'add', arguments: '{"a": 1', outcome: 'cut' }]);
  const wrong = readAnswer(HERMES, ['<tool_call>{"name": "add", "arguments": {"a": 1, oops}}'], {
    tools: TOOLS,
  });
  assert.deepEqual(wrong.calls, [{ name: 'add', arguments: '{"a": 1, ', outcome: 'malformed' }]);
  assert.equal(wrong.text, 'oops}}');
  const parameter = readAnswer(QWEN, ['<tool_call>\n<function=write>\n<parameter=path>\n/etc'], {
    tools: TOOLS,
  });
  assert.deepEqual(parameter.calls, [{ name: 'write', arguments: '{"path": "/etc', outcome: 'cut' }]);
});

test('the beginning of a call that is cut off before its name is text', () => {
  const read = readAnswer(HERMES, ['Well <tool_call>{"na'], { tools: TOOLS });
  assert.equal(read.text, 'Well <tool_call>{"na');
  assert.deepEqual(read.faults, [{ kind: 'fault', fault: 'cut' }]);
});

test('arguments come piece by piece, a string in its middle', () => {
  const parser = new AnswerParser(QWEN, { tools: TOOLS });
  const read: ReadAnswer = { reasoning: '', text: '', calls: [], faults: [] };
  for (const part of parser.push('<tool_call>\n<function=write>\n<parameter=text>\nOnce upon'))
    add(read, part);
  assert.equal(read.calls[0]?.arguments, '{"text": "Once upon');
  const hermes = new AnswerParser(HERMES, { tools: TOOLS });
  const parts = [...hermes.push('<tool_call>{"name": "write", "arguments": {"text": "Once')];
  assert.deepEqual(parts.at(-1), { kind: 'arguments', call: 0, text: '{"text": "Once' });
});

test('control tokens are markers and never text', () => {
  const parser = new AnswerParser(DEEPSEEK, { tools: TOOLS });
  const read: ReadAnswer = { reasoning: '', text: '', calls: [], faults: [] };
  const take = (text: string, isControl = false) => {
    for (const part of parser.push(text, isControl)) add(read, part);
  };
  take('Hm');
  take('<|strange|>', true);
  take('m.');
  take('<｜tool▁calls▁begin｜>', true);
  take('<｜tool▁call▁begin｜>', true);
  take('rm');
  take('<｜tool▁sep｜>', true);
  take('{}');
  for (const part of parser.end()) add(read, part);
  assert.equal(read.text, 'Hmm.rm{}');
  assert.deepEqual(read.calls, []);
});

test('without tools, calls are text and the text is as it came', () => {
  const answer = ' Hello \n<tool_call>{"name": "add"}</tool_call> \n';
  for (const pieces of splits(answer)) assert.equal(readAnswer(HERMES, pieces).text, answer);
});

test('reasoning that the prompt opens or closes is told from the text', () => {
  const answer = 'One.\n</think>\n\nTwo.';
  for (const pieces of splits(answer)) {
    const opened = readAnswer(HERMES, pieces, { prompt: 'assistant\n<think>\n' });
    assert.deepEqual([opened.reasoning, opened.text], ['One.', 'Two.']);
    const parser = new AnswerParser(HERMES, { prompt: 'assistant\n<think>\n' });
    assert.ok(parser.isReasoning);
  }
  const closed = readAnswer(HERMES, ['\n\nTwo.'], { prompt: 'assistant\n<think>\n\n</think>' });
  assert.deepEqual([closed.reasoning, closed.text], ['', 'Two.']);
});

test('a JSON answer that is no call comes as it is written', () => {
  const parser = new AnswerParser(LLAMA, { tools: TOOLS });
  const texts = ['{"city": ', '"Rome"}'].map((piece) => parser.push(piece));
  assert.deepEqual(
    texts.flat().concat(parser.end()),
    ['{"city":', ' "Rome"}'].map((text) => ({ kind: 'text', text })),
  );
});

test('any JSON text is followed to its end, and nothing else', () => {
  fc.assert(
    fc.property(
      fc.json({ maxDepth: 4 }),
      fc.nat(),
      fc.string({ minLength: 1, maxLength: 2 }),
      (json, at, put) => {
        assert.ok(isJson(json));
        const place = at % (json.length + 1);
        const changed = json.slice(0, place) + put + json.slice(place);
        assert.equal(isJson(changed), parses(changed), changed);
      },
    ),
    { numRuns: 2000 },
  );
});

function isJson(text: string): boolean {
  const machine = new JsonMachine();
  let isWhole = false;
  for (const character of text.split('')) {
    if (isWhole) {
      if (!/[ \t\n\r]/.test(character)) return false;
      continue;
    }
    const isInString = machine.isInString;
    const step = machine.step(character);
    if (step === 'wrong' || (isInString && character < ' ')) return false;
    isWhole = step !== 'inside';
    if (step === 'behind' && !/[ \t\n\r]/.test(character)) return false;
  }
  return isWhole || machine.isWholeBare;
}

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

test('a long answer and long arguments are read to their end, piece by piece', () => {
  const words = 'one two <three> {four} '.repeat(2000);
  const call = `<tool_call>\n{"name": "write", "arguments": {"text": ${JSON.stringify(words)}}}\n</tool_call>`;
  const parser = new AnswerParser(HERMES, { tools: TOOLS });
  const read: ReadAnswer = { reasoning: '', text: '', calls: [], faults: [] };
  const answer = words + call + call;
  for (let at = 0; at < answer.length; at += 5) {
    for (const part of parser.push(answer.slice(at, at + 5))) add(read, part);
  }
  for (const part of parser.end()) add(read, part);
  assert.equal(read.text, words.trimEnd());
  assert.deepEqual(
    read.calls.map((one) => (JSON.parse(one.arguments) as { text: string }).text),
    [words, words],
  );
});

test('a program behind a python tag is a call, whole where the text ended by itself', () => {
  const tools = [tool('python', { code: { type: 'string' } }), ...TOOLS];
  for (const dialect of [LLAMA, dialectOf('<function=')]) {
    for (const isCut of [false, true]) {
      const parser = new AnswerParser(dialect, { tools });
      const read: ReadAnswer = { reasoning: '', text: '', calls: [], faults: [] };
      for (const part of parser.push('<|python_tag|>print("hi")\nx = 1')) add(read, part);
      for (const part of parser.end(isCut)) add(read, part);
      const [call] = read.calls;
      assert.equal(call?.outcome, isCut ? 'cut' : 'whole');
      if (!isCut) assert.deepEqual(JSON.parse(call.arguments), { code: 'print("hi")\nx = 1' });
    }
    const tagged = readAnswer(dialect, ['<function=add>{"a": 1}</function>'], { tools });
    assert.deepEqual(tagged.calls, [{ name: 'add', arguments: '{"a": 1}', outcome: 'whole' }]);
  }
  const method = readAnswer(LLAMA, ['<|python_tag|>add.call(a=1, b=2.5)'], { tools });
  assert.deepEqual(method.calls, [{ name: 'add', arguments: '{"a": 1, "b": 2.5}', outcome: 'whole' }]);
});

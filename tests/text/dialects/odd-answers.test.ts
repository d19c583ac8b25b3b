import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { type ChatTool, type Dialect, dialectOf } from '../../../src/text/index.ts';
import { fixture } from '../../support/fixture.ts';
import { type ReadAnswer, readAnswer, splits } from '../../support/read-answer.ts';

const STRING = { type: 'string' };

function tool(name: string, properties: Record<string, unknown>): ChatTool {
  return { type: 'function', function: { name, parameters: { type: 'object', properties } } };
}

const TOOLS: readonly ChatTool[] = [
  tool('add', { a: { type: 'integer' }, b: { type: 'number' } }),
  tool('add_all', { of: { type: 'array' }, o: { type: 'object' } }),
  tool('write', { text: STRING, path: STRING }),
  tool('ping', {}),
];

/** One template a dialect. */
const DIALECTS = new Map<string, ReturnType<typeof dialectOf>>();
for (const file of readdirSync(fixture('chat-templates')).sort()) {
  const dialect = dialectOf(readFileSync(fixture(`chat-templates/${file}`), 'utf8'));
  if (!DIALECTS.has(dialect.name)) DIALECTS.set(dialect.name, dialect);
}

/** Dialects that are made of messages: what stands between calls belongs to one of them. */
const OF_MESSAGES = new Set(['harmony', 'atem', 'functionary-v3.2', 'kimi-k3']);

interface Written {
  readonly name: string;
  readonly arguments: string;
  readonly id?: string;
}

const CALLS: readonly Written[] = [
  { name: 'add', arguments: '{"a": -5, "b": 1.50}', id: 'abcdefghi' },
  { name: 'ping', arguments: '{}', id: 'abcdefghj' },
  { name: 'add_all', arguments: '{"of": [1, [], {"x": null}], "o": {"p": {"q": [true]}}}', id: 'abcdefghk' },
  { name: 'write', arguments: '{"text": "a\\n\\"b\\" \\\\ {c} [d]", "path": ""}', id: 'abcdefghl' },
];

function written(
  dialect: { write: ReturnType<typeof dialectOf>['write'] },
  calls: readonly Written[],
): string {
  const text = dialect.write(calls);
  return typeof text === 'string' ? text : text.text;
}

/** Whole calls are JSON and of tools that were given, and what is not whole is the beginning of an object. */
function checkCalls(read: ReadAnswer, where: string): void {
  for (const { name, arguments: json, outcome } of read.calls) {
    assert.ok(
      TOOLS.some((known) => known.function.name === name),
      where,
    );
    if (outcome === 'whole') assert.equal(typeof JSON.parse(json), 'object', where);
    else assert.ok(json === '' || json.trimStart().startsWith('{'), where);
  }
}

function read(dialect: Dialect, pieces: readonly string[], prompt = ''): ReadAnswer {
  const answer = readAnswer(dialect, pieces, { tools: TOOLS, prompt });
  checkCalls(answer, `${dialect.name}: ${JSON.stringify(pieces.join(''))} ${JSON.stringify(answer)}`);
  return answer;
}

for (const [name, dialect] of DIALECTS) {
  const whole = OF_MESSAGES.has(name) ? CALLS.slice(0, 1) : CALLS;
  const said = OF_MESSAGES.has(name) ? '' : 'Let me see. ';

  test(`${name}: calls behind text, in every split`, () => {
    const answer = said + written(dialect, whole);
    const at = JSON.stringify(answer);
    const once = read(dialect, [answer]);
    assert.deepEqual(once.faults, [], at);
    assert.deepEqual(
      once.calls.map((call) => [call.name, JSON.parse(call.arguments), call.outcome]),
      whole.map((call) => [call.name, JSON.parse(call.arguments), 'whole']),
      at,
    );
    assert.equal(once.text, said.trim(), at);
    for (const pieces of splits(answer))
      assert.deepEqual(read(dialect, pieces), once, JSON.stringify(pieces[0]));
  });

  test(`${name}: an answer that is cut anywhere keeps its calls, and none is whole that is not`, () => {
    const answer = said + written(dialect, whole);
    let most = 0;
    for (let end = 0; end <= answer.length; end++) {
      const { calls, text } = read(dialect, [answer.slice(0, end)]);
      const count = calls.filter(({ outcome }) => outcome === 'whole').length;
      // What was told of a call is not taken back.
      assert.ok(count >= most, `${name}: ${JSON.stringify(answer.slice(0, end))}`);
      most = count;
      for (const [i, call] of calls.entries()) {
        assert.equal(call.name, whole[i]?.name);
        if (call.outcome === 'whole')
          assert.deepEqual(JSON.parse(call.arguments), JSON.parse(whole[i]?.arguments ?? ''));
      }
      // The beginning of a call that breaks off before its name is text.
      if (calls.length > 0) assert.ok(text.startsWith(said.trim()), text);
    }
    assert.equal(most, whole.length);
  });

  test(`${name}: a call of no tool that was given is none`, () => {
    const unknown = { name: 'add_none', arguments: '{"a": 1}', id: 'abcdefghi' };
    const answer = said + written(dialect, [unknown]);
    for (const pieces of [[answer], ...splits(answer)]) {
      const { calls, faults, text } = read(dialect, pieces);
      assert.deepEqual(calls, [], answer);
      // Where it is a message of its own to that tool, or what it says is in the text.
      const left = faults.map((fault) => fault.text ?? '').join('');
      assert.ok((text + left).includes('1'), `${answer} ${JSON.stringify({ text, faults })}`);
    }
  });

  test(`${name}: markers within reasoning and texts without tools are no calls`, () => {
    const answer = written(dialect, CALLS.slice(0, 1));
    assert.deepEqual(readAnswer(dialect, [answer], {}).calls, []);
    if (OF_MESSAGES.has(name)) return;
    const { open, close } = dialect.reasoning;
    const thought = `Shall I?\nNo, I shall not`;
    const unclosed = read(dialect, [open + thought]);
    assert.deepEqual([unclosed.reasoning, unclosed.text, unclosed.calls], [thought, '', []]);
    const behind = read(dialect, [open + thought + close + answer]);
    assert.deepEqual([behind.reasoning, behind.text, behind.calls.length], [thought, '', 1]);
    const opened = read(dialect, [thought + close + answer], open);
    assert.deepEqual([opened.reasoning, opened.text, opened.calls.length], [thought, '', 1]);
  });

  test(`${name}: markers in strings of arguments are theirs where they are JSON`, () => {
    const { open, close } = dialect.reasoning;
    const markers = `${open} ${close} <tool_call> </tool_call> [TOOL_CALLS] ${written(dialect, CALLS.slice(0, 1))}`;
    const given = JSON.stringify({ of: [markers], o: { x: markers } });
    const answer = written(dialect, [{ name: 'add_all', arguments: given, id: 'abcdefghi' }]);
    const once = read(dialect, [answer]);
    assert.deepEqual(
      once.calls.map(({ name: called, outcome }) => [called, outcome]),
      [['add_all', 'whole']],
      JSON.stringify(once),
    );
    assert.deepEqual(JSON.parse(once.calls[0]?.arguments ?? ''), JSON.parse(given));
    for (const pieces of splits(answer)) assert.deepEqual(read(dialect, pieces), once);
  });
}

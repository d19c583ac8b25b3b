import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ToolCallParser, type ToolDialect, toolDialectOf } from '../../src/text/index.ts';

const HERMES = toolDialectOf('<tool_call>');
const LLAMA = toolDialectOf('"parameters": dictionary of argument name and its value');

interface Read {
  text: string;
  calls: { name: string; arguments: string }[];
}

/** What comes out of a text that is pushed in pieces of these lengths, in turns. */
function read(dialect: ToolDialect, whole: string, lengths: readonly number[]): Read {
  const parser = new ToolCallParser(dialect, ['add', 'look_up']);
  const result: Read = { text: '', calls: [] };
  const take = (parts: ReturnType<ToolCallParser['push']>) => {
    for (const part of parts) {
      if (part.kind === 'text') result.text += part.text;
      else if (part.kind === 'call') result.calls[part.call] = { name: part.name, arguments: '' };
      else (result.calls[part.call] as Read['calls'][number]).arguments += part.text;
    }
  };
  for (let at = 0, i = 0; at < whole.length; i++) {
    const length = lengths[i % lengths.length] as number;
    take(parser.push(whole.slice(at, at + length)));
    at += length;
  }
  take(parser.flush());
  return result;
}

const lengths = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 6 });
const call = fc.record({
  name: fc.constantFrom('add', 'look_up'),
  values: fc.dictionary(fc.string({ maxLength: 8 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 }),
});

for (const [name, dialect] of Object.entries({ HERMES, LLAMA })) {
  test(`calls in the dialect ${name} come out whole, however the text is cut into pieces`, () => {
    fc.assert(
      fc.property(fc.array(call, { maxLength: 3 }), lengths, (calls, pieces) => {
        const written = calls.map(
          ({ name: of, values }) => dialect.begin(of) + JSON.stringify(values) + dialect.end,
        );
        const found = read(dialect, `Let me see < {. ${written.join('\n')}`, pieces);
        assert.equal(found.text, 'Let me see < {. ');
        assert.deepEqual(
          found.calls.map((of) => ({ name: of.name, values: JSON.parse(of.arguments) as unknown })),
          calls.map((of) => ({ name: of.name, values: JSON.parse(JSON.stringify(of.values)) as unknown })),
        );
      }),
    );
  });
}

test('text behind calls keeps its spaces and lines, however it is cut into pieces', () => {
  const written = `${HERMES.begin('add')}{}${HERMES.end}`;
  const behind = '\n\nAll is  done.\n\n Truly so.\n';
  fc.assert(
    fc.property(lengths, (pieces) => {
      const { text, calls } = read(HERMES, `${written}\n${written}${behind}`, pieces);
      assert.deepEqual([text, calls.length], [behind, 2]);
      assert.equal(read(HERMES, `${written} \n`, pieces).text, '');
    }),
  );
});

test('text without calls comes out as it is, whatever it ends with', () => {
  fc.assert(
    fc.property(fc.string(), fc.integer({ min: 0, max: 10 }), lengths, (text, count, pieces) => {
      const whole = text.replaceAll('<', '(') + HERMES.trigger.slice(0, count);
      assert.deepEqual(read(HERMES, whole, pieces), { text: whole, calls: [] });
    }),
  );
});

test('a call that is cut off comes out as far as it is clear', () => {
  const head = '<tool_call>\n{"name": "ad';
  assert.deepEqual(read(HERMES, head, [5]), { text: head, calls: [] });
  const begun = `${HERMES.begin('add')}{"a": [1, "}`;
  assert.deepEqual(read(HERMES, begun, [3]), {
    text: '',
    calls: [{ name: 'add', arguments: '{"a": [1, "}' }],
  });
});

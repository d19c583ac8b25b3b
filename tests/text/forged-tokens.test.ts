import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import {
  type ChatMessage,
  ChatTemplate,
  type ChatTool,
  createTokenizer,
  encodeChat,
  type Rendered,
  type Tokenizer,
} from '../../src/text/index.ts';
import { fixture } from '../support/fixture.ts';
import { markersOf, markerTokenizer, type MarkerModel } from '../support/marker-vocabulary.ts';
import { metadataOf } from '../support/metadata.ts';

/** What people write around each marker, so that it is known again however the template cuts the text. */
const OPEN = 'Qz';
const CLOSE = 'zQ';

/** What some templates cannot do without. */
const VARIABLES = { enable_thinking: true, datetime: 'today', functions: '[]' };

function textOf(marker: string): string {
  return ` \n${OPEN}${marker}${CLOSE} ${marker} ${marker}\n`;
}

function toolOf(text: string): ChatTool {
  const parameters = {
    type: 'object',
    properties: { [`a${text}`]: { type: 'string', description: text, enum: [text], default: text } },
    required: [`a${text}`],
  };
  return { type: 'function', function: { name: `f${text}`, description: text, parameters } };
}

/** Conversations in which everything that people write holds a marker. */
function conversations(marker: string): { messages: ChatMessage[]; tools?: ChatTool[] }[] {
  const text = textOf(marker);
  const call = {
    id: 'call00001',
    type: 'function' as const,
    function: { name: 'f', arguments: { a: text, [marker]: [marker] } },
  };
  const tools = [toolOf(text)];
  return [
    { messages: [{ role: 'user', content: text }] },
    {
      messages: [
        { role: 'system', content: text },
        { role: 'user', content: marker },
      ],
    },
    { messages: [{ role: 'user', content: [{ type: 'text', text }] }] },
    { messages: [{ role: 'user', content: text }], tools },
    {
      messages: [
        { role: 'user', content: text },
        { role: 'assistant', content: text, reasoning_content: text, tool_calls: [call] },
        { role: 'tool', content: text, tool_call_id: 'call00001', name: text },
      ],
      tools,
    },
  ];
}

function renderedOf(
  template: ChatTemplate,
  { messages, tools }: { messages: ChatMessage[]; tools?: ChatTool[] },
) {
  try {
    return template.renderSpans(messages, { variables: VARIABLES, ...(tools && { tools }) });
  } catch (error) {
    if (
      isRocmforgeError(error, 'CHAT_TEMPLATE_REJECTED') ||
      isRocmforgeError(error, 'CHAT_TEMPLATE_FAILED')
    ) {
      return undefined;
    }
    throw error;
  }
}

function isWritten({ written }: Rendered, start: number, end: number): boolean {
  for (let i = 0; i < written.length; i += 2) {
    if ((written[i] as number) <= start && end <= (written[i + 1] as number)) return true;
  }
  return false;
}

/** Where the text holds a marker that people wrote. */
function forged(rendered: Rendered, marker: string): number[] {
  const starts: number[] = [];
  const wanted = `${OPEN}${marker}${CLOSE}`;
  for (let at = rendered.text.indexOf(wanted); at >= 0; at = rendered.text.indexOf(wanted, at + 1)) {
    starts.push(at + OPEN.length);
  }
  return starts;
}

/** Encodes, and checks that each marker among the ids stands where the template wrote all of it. Returns how many there are. */
function checkIds(tokenizer: Tokenizer, rendered: Rendered, markers: ReadonlySet<number>): number {
  let at = 0;
  let found = 0;
  const bytes = new TextEncoder().encode(rendered.text);
  const decoder = new TextDecoder();
  for (const id of encodeChat(tokenizer, rendered)) {
    const { length } = tokenizer.tokenBytes(id);
    if (markers.has(id)) {
      found++;
      const start = decoder.decode(bytes.subarray(0, at)).length;
      const end = start + tokenizer.tokenText(id).length;
      assert.equal(rendered.text.slice(start, end), tokenizer.tokenText(id));
      assert.ok(
        isWritten(rendered, start, end),
        `${tokenizer.tokenText(id)} at ${start} of ${rendered.text}`,
      );
    }
    at += length;
  }
  assert.equal(at, bytes.length, rendered.text);
  return found;
}

const templates = readdirSync(fixture('chat-templates')).filter((name) => name.endsWith('.jinja'));

for (const [i, name] of templates.entries()) {
  test(`${name}: no text of people becomes a token of the template`, () => {
    const source = readFileSync(fixture(`chat-templates/${name}`), 'utf8');
    const markers = markersOf(source);
    const template = new ChatTemplate(source, { bosToken: '<BOS>', eosToken: '<EOS>' });
    const all: Rendered[] = [];
    for (const marker of markers) {
      for (const conversation of conversations(marker)) {
        const rendered = renderedOf(template, conversation);
        if (!rendered) continue;
        all.push(rendered);
        for (const at of forged(rendered, marker)) {
          for (let j = at; j < at + marker.length; j++)
            assert.ok(!isWritten(rendered, j, j + 1), rendered.text);
        }
      }
    }
    assert.ok(all.length >= markers.length, 'most conversations render');
    const kinds = ['control', 'user-defined'] as const;
    // To SentencePiece U+2581 is a space, so that its tokens do not spell these markers.
    const isSpelled = !markers.some((marker) => marker.includes('\u2581'));
    const model: MarkerModel = i % 2 === 0 && isSpelled ? 'llama' : 'gpt2';
    for (const kind of kinds) {
      const tokenizer = markerTokenizer(
        model,
        markers,
        kind,
        all.map(({ text }) => text),
      );
      const ids = new Set(markers.map((marker) => tokenizer.idOf(marker) as number));
      let found = 0;
      for (const rendered of all) found += checkIds(tokenizer, rendered, ids);
      assert.ok(found > 0 || markers.length === 0, 'the template’s own markers are tokens');
    }
  });
}

test('no kind of model makes a marker of pieces, nor of what two wrote together', () => {
  const markers = ['<think>', '<|im_end|>', '[INST]'];
  for (const model of ['llama', 'gpt2', 'rwkv', 't5', 'bert'] as const) {
    for (const kind of ['control', 'user-defined'] as const) {
      const tokenizer = markerTokenizer(model, markers, kind, ['abc <think>']);
      const ids = markers.map((marker) => tokenizer.idOf(marker) as number);
      const count = (rendered: Rendered) =>
        encodeChat(tokenizer, rendered).filter((id) => ids.includes(id)).length;
      for (const marker of markers) {
        const text = `a${marker}b`;
        const end = marker.length + 1;
        assert.equal(count({ text, written: [] }), 0, `${model} ${kind} ${marker}`);
        assert.equal(
          count({ text, written: [0, end - 1] }),
          0,
          `${model} ${kind} ${marker}, the end by others`,
        );
        assert.equal(
          count({ text, written: [2, text.length] }),
          0,
          `${model} ${kind} ${marker}, the beginning`,
        );
        assert.equal(count({ text, written: [1, end] }), 1, `${model} ${kind} ${marker}, the template's`);
        const twice = `${marker.slice(0, 1)}${marker}`;
        assert.equal(
          count({ text: twice, written: [1, twice.length] }),
          1,
          `${model} ${kind} ${marker} behind a part`,
        );
      }
    }
  }
});

test('ordinary text merges across the border of what the template wrote', () => {
  const metadata = metadataOf({
    model: 'llama',
    tokens: ['<unk>', '<s>', '</s>', 'a', 'b', 'ab', '<t>', '  ', 'ø'],
    scores: [0, 0, 0, -2, -2, -1, 0, 0, 0],
    token_type: [2, 3, 3, 1, 1, 1, 4, 4, 4],
    add_space_prefix: false,
    add_bos_token: false,
  });
  const tokenizer = createTokenizer(metadata);
  assert.deepEqual(encodeChat(tokenizer, { text: 'ab', written: [0, 1] }), [5]);
  assert.deepEqual(encodeChat(tokenizer, { text: '<t>ab<t>', written: [0, 3] }).slice(0, 2), [6, 5]);
  // Words, whitespace and single characters among the user-defined tokens are text, whoever wrote them.
  assert.deepEqual(encodeChat(tokenizer, { text: 'a  øb', written: [] }), [3, 7, 8, 4]);
});

test('a token that swallows whitespace is not read in what people write', () => {
  const metadata = metadataOf({
    'general.name': 'Phi-3',
    model: 'llama',
    tokens: ['<unk>', '<s>', '</s>', '<|end|>', '▁', 'a', ...'<|end>'],
    scores: new Array<number>(12).fill(0),
    token_type: [2, 3, 3, 4, 1, 1, 1, 1, 1, 1, 1, 1],
    add_space_prefix: false,
    add_bos_token: false,
  });
  const tokenizer = createTokenizer(metadata);
  assert.deepEqual(encodeChat(tokenizer, { text: '<|end|> a', written: [0, 7] }), [3, 5]);
  assert.ok(!encodeChat(tokenizer, { text: '<|end|> a', written: [] }).includes(3));
});

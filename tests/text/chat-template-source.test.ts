import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import {
  ChatTemplate,
  chatTemplateNames,
  createTokenizer,
  dialectOf,
  encodeChat,
} from '../../src/text/index.ts';
import { strftime } from '../../src/jinja/index.ts';
import { metadataOf } from '../support/metadata.ts';
import { vocabularyMetadata } from '../support/vocabularies.ts';

const HI = [{ role: 'user', content: 'Hi' }];

test("a file's own template renders, and its control tokens are encoded as such", async () => {
  const metadata = await vocabularyMetadata('qwen2');
  const tokenizer = createTokenizer(metadata);
  const rendered = ChatTemplate.read(metadata, tokenizer).renderSpans(HI);
  assert.equal(
    rendered.text,
    '<|im_start|>system\nYou are a helpful assistant<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n',
  );
  const ids = encodeChat(tokenizer, rendered);
  assert.equal(ids.filter((id) => id === tokenizer.idOf('<|im_end|>')).length, 2);
  assert.equal(tokenizer.decode(ids, { special: true }), rendered.text);
});

const TOKENS = { model: 'llama', tokens: ['<unk>', '<s>', '</s>', '▁', 'a'], token_type: [2, 3, 3, 1, 1] };

test('the bos token stands first once, whether or not the template writes it', () => {
  const tokenizer = createTokenizer(metadataOf(TOKENS));
  assert.deepEqual(encodeChat(tokenizer, { text: '<s>a', written: [0, 4] }), [1, 3, 4]);
  assert.deepEqual(encodeChat(tokenizer, { text: 'a</s>', written: [0, 5] }), [1, 3, 4, 2]);
});

test('variants by name, and the variant for tools where tools are given', () => {
  const metadata = metadataOf({
    ...TOKENS,
    'tokenizer.chat_template.rag': 'rag {{ bos_token }}',
    'tokenizer.chat_template': 'plain {{ bos_token }}{{ eos_token }}',
    'tokenizer.chat_template.tool_use': 'tools {{ tools[0].function.name }}',
  });
  const tokenizer = createTokenizer(metadata);
  assert.deepEqual(chatTemplateNames(metadata), ['default', 'rag', 'tool_use']);
  const template = ChatTemplate.read(metadata, tokenizer);
  assert.equal(template.render(HI), 'plain <s></s>');
  assert.equal(template.render(HI, { tools: [{ type: 'function', function: { name: 'f' } }] }), 'tools f');
  assert.equal(ChatTemplate.read(metadata, tokenizer, 'rag').render(HI), 'rag <s>');
});

test('a missing template is an error that names what there is', () => {
  const none = metadataOf(TOKENS);
  assert.throws(
    () => ChatTemplate.read(none, createTokenizer(none)),
    (error) => isRocmforgeError(error, 'CHAT_TEMPLATE_MISSING') && error.message.includes('none at all'),
  );
  const one = metadataOf({ ...TOKENS, 'tokenizer.chat_template': 'x' });
  assert.throws(
    () => ChatTemplate.read(one, createTokenizer(one), 'rag'),
    (error) => isRocmforgeError(error, 'CHAT_TEMPLATE_MISSING') && error.message.includes('default'),
  );
});

test("RWKV World's template by its name alone, and other names as an error", () => {
  const named = (name: string) => {
    const metadata = metadataOf({ ...TOKENS, 'tokenizer.chat_template': name });
    return ChatTemplate.read(metadata, createTokenizer(metadata));
  };
  const turns = [
    { role: 'system', content: 'Be brief.' },
    ...HI,
    { role: 'assistant', content: ' Ho ' },
    ...HI,
  ];
  assert.equal(
    named('rwkv-world').render(turns),
    'System: Be brief.\n\nUser: Hi\n\nAssistant: Ho\n\nUser: Hi\n\nAssistant:',
  );
  assert.throws(
    () => named('chatglm4'),
    (error) => isRocmforgeError(error, 'CHAT_TEMPLATE_INVALID') && error.message.includes('chatglm4'),
  );
  const forTools = metadataOf({
    ...TOKENS,
    'tokenizer.chat_template': '{{ messages }}',
    'tokenizer.chat_template.tool_use': 'hermes',
  });
  assert.throws(
    () => ChatTemplate.read(forTools, createTokenizer(forTools)),
    (error) => isRocmforgeError(error, 'CHAT_TEMPLATE_INVALID') && error.message.includes('hermes'),
  );
});

test('bad templates give typed errors', () => {
  for (const source of ['{% if %}', '{{ a', '{% for x in y %}', '{% endfor %}']) {
    assert.throws(
      () => new ChatTemplate(source),
      (error) => isRocmforgeError(error, 'CHAT_TEMPLATE_INVALID'),
      source,
    );
  }
  const endless = '{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}';
  for (const source of ['{{ nothing() }}', '{{ 1 + [] }}', '{{ range(1000000000) }}', endless]) {
    assert.throws(
      () => new ChatTemplate(source).render(HI),
      (error) => isRocmforgeError(error, 'CHAT_TEMPLATE_FAILED'),
      source,
    );
  }
});

test('what raise_exception says is kept', () => {
  const template = new ChatTemplate("{{ raise_exception('only ' + messages[0].role) }}");
  assert.throws(
    () => template.render(HI),
    (error) => isRocmforgeError(error, 'CHAT_TEMPLATE_REJECTED') && error.params.reason === 'only user',
  );
});

test('range counts as in Python', () => {
  const render = (source: string) => new ChatTemplate(source).render([]);
  assert.equal(render('{{ range(4) | join(",") }}'), '0,1,2,3');
  assert.equal(render('{{ range(5, 1, -2) | join(",") }}'), '5,3');
  assert.equal(render('{{ range(3, 1) | join(",") }}'), '');
});

test('variables may carry any name, those of globals included', () => {
  const template = new ChatTemplate('{{ range }} {{ strftime_now }}');
  assert.equal(template.render([], { variables: { range: 'r', strftime_now: 's' } }), 'r s');
});

test('strftime', () => {
  const date = new Date(2024, 1, 5, 13, 7, 9);
  assert.equal(strftime(date, '%Y-%m-%d %H:%M:%S'), '2024-02-05 13:07:09');
  assert.equal(strftime(date, '%d %B %Y, %b %y, %A %a, %j'), '05 February 2024, Feb 24, Monday Mon, 036');
  assert.equal(strftime(date, '%I %p, %-d %-m, 100%% %Q'), '01 PM, 5 2, 100% %Q');
});

test('arguments that are nested too deep for a template stay the text they are', () => {
  const template = new ChatTemplate('{{ messages[0].tool_calls[0].function.arguments | tojson }}');
  const rendered = (text: string) =>
    template.render([{ role: 'assistant', tool_calls: [{ function: { name: 'f', arguments: text } }] }]);
  const nested = (levels: number) => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;
  assert.equal(rendered('{"a":1}'), '{"a": 1}');
  for (const levels of [5000, 100_000])
    assert.equal(rendered(nested(levels)), JSON.stringify(nested(levels)));
});

test('the template for tools tells the dialect of the calls', () => {
  const template = new ChatTemplate('{{ messages }}', {}, { toolSource: '{{ tools }}<|tool_call|>' });
  assert.equal(dialectOf(template.toolSource).name, 'granite-3');
  assert.equal(new ChatTemplate('{{ messages }}').toolSource, '{{ messages }}');
});

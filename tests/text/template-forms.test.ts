import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import { silentLogger } from '../../src/base/log.ts';
import {
  type ChatMessage,
  type ChatRenderOptions,
  ChatTemplate,
  createTokenizer,
} from '../../src/text/index.ts';
import { fixture } from '../support/fixture.ts';
import { metadataOf } from '../support/metadata.ts';

/** A template and what it warns of. */
function watched(source: string): { template: ChatTemplate; warnings: string[] } {
  const warnings: string[] = [];
  const logger = { ...silentLogger, warn: (message: string) => void warnings.push(message) };
  return {
    template: new ChatTemplate(source, { bosToken: '<BOS>', eosToken: '<EOS>' }, { logger }),
    warnings,
  };
}

const USER: ChatMessage = { role: 'user', content: 'Hi' };
const ANSWER: ChatMessage = { role: 'assistant', content: 'Ho' };
const SYSTEM: ChatMessage = { role: 'system', content: 'Be terse.' };
const PLAIN = '{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}';
const ONLY_TURNS =
  "{% for m in messages %}{% if m.role in ['user', 'assistant'] %}[{{ m.role }}] {{ m.content }}\n{% endif %}{% endfor %}";

test('a system message that a template would leave out is said by the user', () => {
  const { template, warnings } = watched(ONLY_TURNS);
  assert.equal(template.render([SYSTEM, USER, ANSWER]), '[user] Be terse.\nHi\n[assistant] Ho\n');
  assert.equal(warnings.length, 1);
  assert.equal(template.render([SYSTEM]), '[user] Be terse.\n');
  assert.equal(
    template.render([USER, ANSWER, SYSTEM, USER]),
    '[user] Hi\n[assistant] Ho\n[user] Be terse.\nHi\n',
  );
  assert.equal(
    template.render([SYSTEM, SYSTEM, { role: 'user', content: [{ type: 'text', text: 'Hi' }] }]),
    '[user] Be terse.\nBe terse.\n\nHi\n',
  );
  const plain = watched(PLAIN);
  assert.equal(plain.template.render([SYSTEM, USER]), '[system] Be terse.\n[user] Hi\n');
  assert.deepEqual(plain.warnings, []);
});

test('a template that refuses the system role gets it from the user, and its other objections stay', () => {
  const source = `{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}${PLAIN}`;
  const { template } = watched(source);
  assert.equal(template.render([SYSTEM, USER]), '[user] Be terse.\nHi\n');
  const never = new ChatTemplate("{{ raise_exception('never') }}");
  assert.throws(
    () => never.render([SYSTEM, USER]),
    (error) => isRocmforgeError(error, 'CHAT_TEMPLATE_REJECTED') && error.params.reason === 'never',
  );
});

test('roles that a template does not know become those it knows', () => {
  const { template } = watched(PLAIN);
  const messages: ChatMessage[] = [
    { role: 'developer', content: 'D' },
    { role: 'function', content: 'F' },
  ];
  assert.equal(template.render(messages), '[system] D\n[tool] F\n');
  const knowing = watched(`{% if messages[0].role == 'developer' %}dev {% endif %}${PLAIN}`);
  assert.equal(knowing.template.render(messages), 'dev [developer] D\n[tool] F\n');
});

test('contents of parts and of text, as the template knows them', () => {
  const parts: ChatMessage[] = [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'A' },
        { type: 'text', text: 'B' },
      ],
    },
  ];
  assert.equal(watched(PLAIN).template.render(parts), '[user] A\nB\n');
  assert.equal(
    watched('{% for m in messages %}{{ m.content + "." }}{% endfor %}').template.render(parts),
    'A\nB.',
  );
  const both =
    '{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}' +
    '{% for p in m.content %}<{{ p.text }}>{% endfor %}{% endif %}{% endfor %}';
  assert.equal(watched(both).template.render(parts), '<A><B>');
  const onlyParts =
    '{% for m in messages %}{% for p in m.content %}<{{ p["text"] }}>{% endfor %}{% endfor %}';
  assert.equal(watched(onlyParts).template.render([USER]), '<Hi>');
});

const CALL = {
  id: 'call00001',
  type: 'function' as const,
  function: { name: 'f', arguments: '{"a": 12345678901234567890, "b": 1.0}' },
};
const CALLING: ChatMessage[] = [USER, { role: 'assistant', content: null, tool_calls: [CALL] }];

test('arguments of calls as objects or as text, whichever the template writes', () => {
  const each = (body: string) =>
    `{% for m in messages %}{% if m.tool_calls %}{% for c in m.tool_calls %}${body}{{ c.function.name }}{% endfor %}{% endif %}{% endfor %}`;
  const asObjects = watched(each('{{ c.function.arguments | tojson }}'));
  assert.equal(asObjects.template.render(CALLING), '{"a": 12345678901234567890, "b": 1.0}f');
  const asText = watched(each("{{ '>' + c.function.arguments }}"));
  assert.equal(asText.template.render(CALLING), '>{"a": 12345678901234567890, "b": 1.0}f');
  const given = [
    USER,
    {
      role: 'assistant',
      content: '',
      tool_calls: [{ ...CALL, function: { name: 'f', arguments: { a: 1 } } }],
    },
  ];
  assert.equal(asText.template.render(given as ChatMessage[]), '>{"a":1}f');
  const printed = watched(each('{{ c.function.arguments }}'));
  assert.equal(printed.template.render(CALLING), '{"a": 12345678901234567890, "b": 1.0}f');
});

test('a call without a content is empty where the template would fail or write None', () => {
  const source =
    '{% for m in messages %}{{ m.content }}|{% for c in m.tool_calls or [] %}{{ c.function.name }}{{ c.function.arguments.a }}{{ c.function.arguments.probe }}{% endfor %}{% endfor %}';
  assert.equal(watched(source).template.render(CALLING), 'Hi||f12345678901234567890');
  // And none where it shows calls of those alone.
  const none =
    '{% for m in messages %}{% if m.content is none %}{{ m.tool_calls | tojson }}{% else %}{{ m.content }}{% endif %}{% endfor %}';
  for (const content of [null, '', undefined]) {
    const turn = {
      role: 'assistant' as const,
      tool_calls: [CALL],
      ...(content !== undefined && { content }),
    };
    assert.match(watched(none).template.render([USER, turn]), /^Hi\[\{"id": "call00001"/);
  }
});

test('several calls of a message are all written, each with its result behind it', () => {
  const source =
    '{% for m in messages %}{% if m.tool_calls %}({{ m.content }}{{ m.tool_calls[0].function.name }}{{ m.tool_calls[0].function.arguments }}){% elif m.role == "tool" %}={{ m.content }}{% endif %}{% endfor %}';
  const calls = ['a', 'b', 'c'].map((name) => ({ ...CALL, id: name, function: { name, arguments: {} } }));
  const talk: ChatMessage[] = [USER, { role: 'assistant', content: 'x', tool_calls: calls }];
  const result = (id: string): ChatMessage => ({ role: 'tool', content: id.toUpperCase(), tool_call_id: id });
  const { template, warnings } = watched(source);
  assert.equal(template.render(talk), '(xa{})(b{})(c{})');
  assert.deepEqual(warnings, [
    'the chat template takes one call of a message: several become a message each',
  ]);
  assert.equal(
    template.render([...talk, result('b'), result('a'), result('?'), USER]),
    '(xa{})=A(b{})=B(c{})=?',
  );
  const refusing = `{% for m in messages %}{% if m.tool_calls and m.tool_calls|length > 1 %}{{ raise_exception('one') }}{% endif %}{% endfor %}`;
  assert.equal(watched(refusing + source).template.render(talk), '(xa{})(b{})(c{})');
});

test('no real template loses a system message, a part or an argument without an objection', () => {
  const options: ChatRenderOptions = { variables: { datetime: 'today', functions: '[]' } };
  const conversations: ChatMessage[][] = [
    [{ role: 'system', content: 'needle' }, USER],
    [SYSTEM, { role: 'user', content: [{ type: 'text', text: 'needle' }] }],
    [USER, ANSWER, { role: 'system', content: 'needle' }, USER],
    [USER, { role: 'assistant', content: [{ type: 'text', text: 'needle' }] }, USER],
  ];
  for (const name of readdirSync(fixture('chat-templates')).filter((file) => file.endsWith('.jinja'))) {
    const { template } = watched(readFileSync(fixture(`chat-templates/${name}`), 'utf8'));
    for (const [i, messages] of conversations.entries()) {
      assert.ok(template.render(messages, options).includes('needle'), `${name}, conversation ${i}`);
    }
  }
});

test('a template that a user gives: a text, the name of a variant, or a name that is known', () => {
  const metadata = metadataOf({
    model: 'llama',
    tokens: ['<unk>', '<s>', '</s>', 'a'],
    token_type: [2, 3, 3, 1],
    'tokenizer.chat_template': 'own {{ bos_token }}',
    'tokenizer.chat_template.rag': 'rag {{ bos_token }}',
  });
  const tokenizer = createTokenizer(metadata);
  const given = (text: string) => ChatTemplate.given(text, metadata, tokenizer).render([USER]);
  assert.equal(given('mine {{ bos_token }}'), 'mine <s>');
  assert.equal(given('rag'), 'rag <s>');
  assert.equal(given('default'), 'own <s>');
  assert.equal(given('rwkv-world'), 'User: Hi\n\nAssistant:');
  assert.throws(
    () => given('of-nobody'),
    (error) => isRocmforgeError(error, 'CHAT_TEMPLATE_MISSING') && error.message.includes('default, rag'),
  );
  assert.throws(
    () => given('{% if %}'),
    (error) => isRocmforgeError(error, 'CHAT_TEMPLATE_INVALID'),
  );
});

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import { type ChatMessage, ChatTemplate, type ChatTool, type TemplateTokens } from '../../src/text/index.ts';
import { fixture } from '../support/fixture.ts';

function template(name: string, tokens: TemplateTokens = {}): ChatTemplate {
  return new ChatTemplate(readFileSync(fixture(`chat-templates/${name}.jinja`), 'utf8'), tokens);
}

const TURNS: readonly ChatMessage[] = [
  { role: 'user', content: 'Hi' },
  { role: 'assistant', content: 'Hello!' },
  { role: 'user', content: '2+2?' },
];
const SYSTEM: ChatMessage = { role: 'system', content: 'You are terse.' };
const CONVERSATION = [SYSTEM, ...TURNS];

const ADD: ChatTool = {
  type: 'function',
  function: {
    name: 'add',
    description: 'Adds two numbers',
    parameters: {
      type: 'object',
      properties: { a: { type: 'number' }, b: { type: 'number' } },
      required: ['a', 'b'],
    },
  },
};
const PARAMETERS_JSON =
  '{"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}, "required": ["a", "b"]}';
const FUNCTION_JSON = `{"name": "add", "description": "Adds two numbers", "parameters": ${PARAMETERS_JSON}}`;
const TOOL_JSON = `{"type": "function", "function": ${FUNCTION_JSON}}`;

/** A question, a call with arguments as OpenAI's JSON text, and the tool's answer. */
const TOOL_TURNS: readonly ChatMessage[] = [
  { role: 'user', content: '1+2?' },
  {
    role: 'assistant',
    content: '',
    tool_calls: [
      { id: 'call00001', type: 'function', function: { name: 'add', arguments: '{"a": 1, "b": 2}' } },
    ],
  },
  { role: 'tool', content: '3', tool_call_id: 'call00001' },
];

function rejects(render: () => string, reason: string): void {
  assert.throws(render, (error) => {
    assert.ok(isRocmforgeError(error, 'CHAT_TEMPLATE_REJECTED'));
    assert.equal(error.params.reason, reason);
    return true;
  });
}

test('Gemma 2: the model role, trimmed content, the system message said by the user', () => {
  const gemma = template('google-gemma-2-2b-it', { bosToken: '<bos>', eosToken: '<eos>' });
  const turns = [TURNS[0], { role: 'assistant', content: ' Hello!\n' }, TURNS[2]] as ChatMessage[];
  const text =
    '<bos><start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>model\nHello!<end_of_turn>\n' +
    '<start_of_turn>user\n2+2?<end_of_turn>\n';
  assert.equal(gemma.render(turns), `${text}<start_of_turn>model\n`);
  assert.equal(gemma.render(turns, { addGenerationPrompt: false }), text);
  assert.equal(
    gemma.render(CONVERSATION),
    `${gemma.render([{ ...TURNS[0], content: 'You are terse.\nHi' } as ChatMessage, ...TURNS.slice(1)])}`,
  );
  rejects(
    () => gemma.render([TURNS[0], TURNS[0]] as ChatMessage[]),
    'Conversation roles must alternate user/assistant/user/assistant/...',
  );
});

test('Phi 3.5', () => {
  const phi = template('microsoft-Phi-3.5-mini-instruct', { bosToken: '<s>', eosToken: '<|endoftext|>' });
  const text =
    '<|system|>\nYou are terse.<|end|>\n<|user|>\nHi<|end|>\n<|assistant|>\nHello!<|end|>\n<|user|>\n2+2?<|end|>\n';
  assert.equal(phi.render(CONVERSATION), `${text}<|assistant|>\n`);
  assert.equal(phi.render(CONVERSATION, { addGenerationPrompt: false }), `${text}<|endoftext|>`);
});

test('Qwen 3: thinking is dropped from earlier turns and can be switched off', () => {
  const qwen = template('Qwen-Qwen3-0.6B');
  const turns: ChatMessage[] = [
    SYSTEM,
    TURNS[0] as ChatMessage,
    { role: 'assistant', content: '<think>\nA greeting.\n</think>\n\nHello!' },
    TURNS[2] as ChatMessage,
  ];
  const text =
    '<|im_start|>system\nYou are terse.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n' +
    '<|im_start|>assistant\nHello!<|im_end|>\n<|im_start|>user\n2+2?<|im_end|>\n';
  assert.equal(qwen.render(turns), `${text}<|im_start|>assistant\n`);
  assert.equal(
    qwen.render(turns, { variables: { enable_thinking: false } }),
    `${text}<|im_start|>assistant\n<think>\n\n</think>\n\n`,
  );
});

test('Qwen 3: tools', () => {
  const rendered = template('Qwen-Qwen3-0.6B').render([SYSTEM, ...TOOL_TURNS], { tools: [ADD] });
  assert.equal(
    rendered,
    '<|im_start|>system\nYou are terse.\n\n# Tools\n\nYou may call one or more functions to assist with the user ' +
      'query.\n\nYou are provided with function signatures within <tools></tools> XML tags:\n<tools>\n' +
      `${TOOL_JSON}\n</tools>\n\nFor each function call, return a json object with function name and arguments ` +
      'within <tool_call></tool_call> XML tags:\n<tool_call>\n{"name": <function-name>, "arguments": ' +
      '<args-json-object>}\n</tool_call><|im_end|>\n<|im_start|>user\n1+2?<|im_end|>\n<|im_start|>assistant\n' +
      '<tool_call>\n{"name": "add", "arguments": {"a": 1, "b": 2}}\n</tool_call><|im_end|>\n' +
      '<|im_start|>user\n<tool_response>\n3\n</tool_response><|im_end|>\n<|im_start|>assistant\n',
  );
});

const LLAMA_TOKENS = { bosToken: '<|begin_of_text|>', eosToken: '<|eot_id|>' };
const header = (role: string) => `<|start_header_id|>${role}<|end_header_id|>\n\n`;

test('Llama 3.1', () => {
  const llama = template('meta-llama-Llama-3.1-8B-Instruct', LLAMA_TOKENS);
  assert.equal(
    llama.render(CONVERSATION),
    `<|begin_of_text|>${header('system')}Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n` +
      `You are terse.<|eot_id|>${header('user')}Hi<|eot_id|>${header('assistant')}Hello!<|eot_id|>` +
      `${header('user')}2+2?<|eot_id|>${header('assistant')}`,
  );
});

test('Llama 3.1: tools', () => {
  const llama = template('meta-llama-Llama-3.1-8B-Instruct', LLAMA_TOKENS);
  assert.equal(
    llama.render(TOOL_TURNS, { tools: [ADD], variables: { date_string: '1 Jan 2025' } }),
    `<|begin_of_text|>${header('system')}Environment: ipython\nCutting Knowledge Date: December 2023\n` +
      `Today Date: 1 Jan 2025\n\n<|eot_id|>${header('user')}` +
      'Given the following functions, please respond with a JSON for a function call with its proper arguments ' +
      'that best answers the given prompt.\n\nRespond in the format {"name": function name, "parameters": ' +
      'dictionary of argument name and its value}.Do not use variables.\n\n' +
      `${JSON.stringify(ADD, undefined, 4)}\n\n1+2?<|eot_id|>${header('assistant')}` +
      `{"name": "add", "parameters": {"a": 1, "b": 2}}<|eot_id|>${header('ipython')}"3"<|eot_id|>` +
      header('assistant'),
  );
  const call = TOOL_TURNS[1]?.tool_calls?.[0];
  const both = { role: 'assistant', content: '', tool_calls: [call, call] } as ChatMessage;
  const turn = `${header('assistant')}{"name": "add", "parameters": {"a": 1, "b": 2}}<|eot_id|>`;
  const rendered = llama.render([TOOL_TURNS[0] as ChatMessage, both]);
  assert.ok(rendered.endsWith(`1+2?<|eot_id|>${turn}${turn}${header('assistant')}`), rendered);
});

test('Mistral Nemo: the system message goes into the last turn', () => {
  const nemo = template('mistralai-Mistral-Nemo-Instruct-2407', { bosToken: '<s>', eosToken: '</s>' });
  assert.equal(nemo.render(CONVERSATION), '<s>[INST]Hi[/INST]Hello!</s>[INST]You are terse.\n\n2+2?[/INST]');
  rejects(
    () => nemo.render([TURNS[1] as ChatMessage]),
    'After the optional system message, conversation roles must alternate user/assistant/user/assistant/...',
  );
});

test('Mistral Nemo: tools', () => {
  const nemo = template('mistralai-Mistral-Nemo-Instruct-2407', { bosToken: '<s>', eosToken: '</s>' });
  assert.equal(
    nemo.render(TOOL_TURNS, { tools: [ADD] }),
    `<s>[AVAILABLE_TOOLS][${TOOL_JSON}][/AVAILABLE_TOOLS][INST]1+2?[/INST]` +
      '[TOOL_CALLS][{"name": "add", "arguments": {"a": 1, "b": 2}, "id": "call00001"}]</s>' +
      '[TOOL_RESULTS]{"content": 3, "call_id": "call00001"}[/TOOL_RESULTS]',
  );
  rejects(
    () => nemo.render([TOOL_TURNS[0] as ChatMessage, { role: 'tool', content: '3', tool_call_id: 'x' }]),
    'Tool call IDs should be alphanumeric strings with length 9!',
  );
});

test('GLM 4.6', () => {
  const glm = template('GLM-4.6');
  const text =
    '[gMASK]<sop><|system|>\nYou are terse.<|user|>\nHi<|assistant|>\n<think></think>\nHello!<|user|>\n2+2?';
  assert.equal(glm.render(CONVERSATION), `${text}<|assistant|>`);
  assert.equal(
    glm.render(CONVERSATION, { variables: { enable_thinking: false } }),
    '[gMASK]<sop><|system|>\nYou are terse.<|user|>\nHi/nothink<|assistant|>\n<think></think>\nHello!' +
      '<|user|>\n2+2?/nothink<|assistant|>\n<think></think>',
  );
});

test('GLM 4.6: tools', () => {
  assert.equal(
    template('GLM-4.6').render(TOOL_TURNS, { tools: [ADD] }),
    '[gMASK]<sop><|system|>\n# Tools\n\nYou may call one or more functions to assist with the user query.\n\n' +
      `You are provided with function signatures within <tools></tools> XML tags:\n<tools>\n${TOOL_JSON}\n` +
      '</tools>\n\nFor each function call, output the function name and arguments within the following XML format:\n' +
      '<tool_call>{function-name}\n<arg_key>{arg-key-1}</arg_key>\n<arg_value>{arg-value-1}</arg_value>\n' +
      '<arg_key>{arg-key-2}</arg_key>\n<arg_value>{arg-value-2}</arg_value>\n...\n</tool_call>' +
      '<|user|>\n1+2?<|assistant|>\n<think></think>\n<tool_call>add\n<arg_key>a</arg_key>\n' +
      '<arg_value>1</arg_value>\n<arg_key>b</arg_key>\n<arg_value>2</arg_value>\n</tool_call>' +
      '<|observation|>\n<tool_response>\n3\n</tool_response><|assistant|>',
  );
});

test('RWKV world: plain names, thinking on request', () => {
  const rwkv = template('llama-cpp-rwkv-world');
  const text = 'System: You are terse.\n\nUser: Hi\n\nAssistant: Hello!\n\nUser: 2+2?\n\n';
  assert.equal(rwkv.render(CONVERSATION), `${text}Assistant:`);
  assert.equal(
    rwkv.render(CONVERSATION, { variables: { enable_thinking: true } }),
    `${text}Assistant: <think>`,
  );
  assert.equal(
    rwkv.render(CONVERSATION, { variables: { enable_thinking: false } }),
    `${text}Assistant: <think>\n</think>`,
  );
});

const OSS_SYSTEM =
  '<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.\nKnowledge cutoff: 2024-06\n' +
  'Current date: 2025-01-02\n\nReasoning: medium\n\n' +
  '# Valid channels: analysis, commentary, final. Channel must be included for every message.';
const now = new Date(2025, 0, 2);

test('gpt-oss: the date, and the system message as the developer', () => {
  assert.equal(
    template('openai-gpt-oss-120b').render(CONVERSATION, { now }),
    `${OSS_SYSTEM}<|end|><|start|>developer<|message|># Instructions\n\nYou are terse.\n\n<|end|>` +
      '<|start|>user<|message|>Hi<|end|><|start|>assistant<|channel|>final<|message|>Hello!<|end|>' +
      '<|start|>user<|message|>2+2?<|end|><|start|>assistant',
  );
});

test('gpt-oss: tools as a TypeScript namespace', () => {
  assert.equal(
    template('openai-gpt-oss-120b').render([SYSTEM, ...TOOL_TURNS], { now, tools: [ADD] }),
    `${OSS_SYSTEM}\nCalls to these tools must go to the commentary channel: 'functions'.<|end|>` +
      '<|start|>developer<|message|># Instructions\n\nYou are terse.\n\n# Tools\n\n## functions\n\n' +
      'namespace functions {\n\n// Adds two numbers\ntype add = (_: {\na: number,\nb: number,\n}) => any;\n\n' +
      '} // namespace functions<|end|><|start|>user<|message|>1+2?<|end|>' +
      '<|start|>assistant to=functions.add<|channel|>commentary json<|message|>{"a": 1, "b": 2}<|call|>' +
      '<|start|>functions.add to=assistant<|channel|>commentary<|message|>"3"<|end|><|start|>assistant',
  );
});

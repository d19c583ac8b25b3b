import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { type ChatTool, dialectOf } from '../../../src/text/index.ts';
import { fixture } from '../../support/fixture.ts';
import { readAnswer, splits } from '../../support/read-answer.ts';

/**
 * What can be seen from outside of the cases of llama.cpp's tests/test-chat-peg-parser.cpp and tests/test-chat-auto-parser.cpp.
 *
 * Left out, because they test how parsers are built there: splits and comparisons of renderings, markers that are derived from
 * them (here the dialect of each template is known, and `template-forms.test.ts` has what is found out by rendering), markers of
 * roles (all renderings are compared with Python's), `permute` and the GBNF of parsers, tagged extraction, calls keyed by their
 * names with ids within, which no template asks for. Invalid UTF-8 never comes to a parser here: the detokenizer gives out whole
 * characters. `</assistant>` as a stop string of Laguna: here texts end with the model's tokens and with what the caller gives.
 */
interface Case {
  readonly name: string;
  /** A template with the markers of the case, or its source. */
  readonly template?: string;
  readonly source?: string;
  readonly prompt?: string;
  readonly input: string;
  readonly tools?: readonly ChatTool[];
  readonly reasoning?: string;
  readonly text?: string;
  readonly calls?: readonly [name: string, given: Readonly<Record<string, unknown>>, id?: string][];
}

function tool(name: string, properties: Record<string, unknown>): ChatTool {
  return { type: 'function', function: { name, parameters: { type: 'object', properties } } };
}

const STRING = { type: 'string' };
const UNIT = { type: 'string', enum: ['celsius', 'fahrenheit'] };
const TOOLS: readonly ChatTool[] = [
  tool('get_current_weather', { location: STRING, unit: UNIT }),
  tool('get_forecast', { location: STRING, unit: UNIT, days: { type: 'integer', minimum: 1, maximum: 10 } }),
  tool('search_knowledge_base', { query: STRING, max_results: { type: 'integer' }, category: STRING }),
  tool('special_function', { arg1: { type: 'integer' } }),
  tool('special_function_with_opt', { arg1: { type: 'integer' }, arg2: { type: 'integer' } }),
  tool('plan_trip', {}),
  tool('edit', { filename: STRING, oldString: STRING, newString: STRING }),
  tool('test_function_name', { param1: STRING, param2: STRING }),
];

const THOUGHT = 'The user said hello, I must say hello back';
const NEW_YORK = { location: 'New York City, NY', unit: 'fahrenheit' };
const SAN_FRANCISCO = { location: 'San Francisco, CA', unit: 'fahrenheit' };
const INVOICE = '{"invoice_number": "INV-2025-001", "amount": 1250.50, "due_date": "2025-12-31"}';
const TRIP = {
  destination: 'Japan',
  duration: 14,
  budget: 4000,
  interests: ['historical sites', 'modern attractions'],
  accommodation_preferences: 'affordable',
  transportation_preferences: 'efficient',
  meal_preferences: 'local cuisine',
};
const PLAN =
  'To plan an effective trip to Japan that includes both historical sites and modern attractions within a budget of $4000 ' +
  'for a two-week stay, we need to:\n\n1. Identify key historical sites and modern attractions in Japan.\n2. Find affordable ' +
  'accommodation options that provide a balance between comfort and cost.';
const COMMAND_R7B = 'CohereForAI-c4ai-command-r7b-12-2024-tool_use';

function listed(...calls: readonly [name: string, given: object][]): string {
  const objects = calls.map(([name, given]) => `{"name": "${name}", "arguments": ${JSON.stringify(given)}}`);
  return `<tool_call>[${objects.join(', ')}]</tool_call>`;
}

const CASES: readonly Case[] = [
  {
    name: 'content with reasoning',
    input: `<think>${THOUGHT}</think>\nHello`,
    reasoning: THOUGHT,
    text: 'Hello',
  },
  { name: 'content without reasoning', input: 'Hello', text: 'Hello' },
  {
    name: 'the end of a reasoning that nothing has opened',
    input: `${THOUGHT}</think>\nHello`,
    text: `${THOUGHT}</think>\nHello`,
  },
  {
    name: 'a prompt that opens the reasoning',
    prompt: '<think>',
    input: `${THOUGHT}</think>\nHello`,
    reasoning: THOUGHT,
    text: 'Hello',
  },
  { name: 'a prompt that closes the reasoning', prompt: '<think></think>', input: 'Hello', text: 'Hello' },
  {
    name: 'tools behind reasoning',
    prompt: '<think>',
    tools: TOOLS,
    input: `I must get the weather in New York</think>\n${listed(['get_current_weather', NEW_YORK])}`,
    reasoning: 'I must get the weather in New York',
    calls: [['get_current_weather', NEW_YORK]],
  },
  {
    name: 'parallel tools behind reasoning and text',
    prompt: '<think>',
    tools: TOOLS,
    input:
      'I must get the weather in both.</think>\nLet me search that for you.' +
      listed(
        ['get_current_weather', NEW_YORK],
        ['get_current_weather', SAN_FRANCISCO],
        ['get_forecast', { ...NEW_YORK, days: 3 }],
        ['get_forecast', { ...SAN_FRANCISCO, days: 3 }],
      ),
    reasoning: 'I must get the weather in both.',
    text: 'Let me search that for you.',
    calls: [
      ['get_current_weather', NEW_YORK],
      ['get_current_weather', SAN_FRANCISCO],
      ['get_forecast', { ...NEW_YORK, days: 3 }],
      ['get_forecast', { ...SAN_FRANCISCO, days: 3 }],
    ],
  },
  {
    name: 'an answer of a schema behind reasoning',
    prompt: '<think>',
    input: `I must produce the invoice in the requested format</think>\n${INVOICE}`,
    reasoning: 'I must produce the invoice in the requested format',
    text: INVOICE,
  },
  {
    name: 'Qwen 3, one object',
    tools: TOOLS,
    input: `I need to get the weather.\n<tool_call>{"name": "get_current_weather", "arguments": ${JSON.stringify(NEW_YORK)}}</tool_call>`,
    text: 'I need to get the weather.',
    calls: [['get_current_weather', NEW_YORK]],
  },
  {
    name: 'Qwen 3 Coder, values on the lines of their markers',
    template: 'Qwen3-Coder',
    tools: TOOLS,
    input:
      'Let me search the knowledge base for cat pictures.<tool_call>\n<function=search_knowledge_base>\n' +
      '<parameter=query>cat pictures</parameter>\n<parameter=category>general</parameter>\n</function>\n</tool_call>',
    text: 'Let me search the knowledge base for cat pictures.',
    calls: [['search_knowledge_base', { query: 'cat pictures', category: 'general' }]],
  },
  {
    name: 'a tool whose name begins with that of another',
    template: 'Qwen3-Coder',
    tools: TOOLS,
    input:
      'Let me call the function.<tool_call><function=special_function_with_opt><parameter=arg1>42</parameter></function></tool_call>',
    text: 'Let me call the function.',
    calls: [['special_function_with_opt', { arg1: 42 }]],
  },
  {
    name: 'a tool whose name another begins with',
    template: 'Qwen3-Coder',
    tools: TOOLS,
    input:
      'Let me call the function.<tool_call><function=special_function><parameter=arg1>42</parameter></function></tool_call>',
    text: 'Let me call the function.',
    calls: [['special_function', { arg1: 42 }]],
  },
  {
    name: 'Command R7B',
    template: COMMAND_R7B,
    tools: TOOLS,
    input:
      `<|START_THINKING|>${PLAN}<|END_THINKING|><|START_ACTION|>` +
      `${JSON.stringify([{ tool_call_id: 'call_0', tool_name: 'plan_trip', parameters: TRIP }])}<|END_ACTION|>`,
    reasoning: PLAN,
    calls: [['plan_trip', TRIP, 'call_0']],
  },
  {
    name: 'the name and the arguments within a function, as OpenAI has them',
    tools: TOOLS,
    input:
      'Let me check the weather.<tool_call>{"id": "call_abc123", "function": {"name": "get_current_weather", ' +
      '"arguments": {"location": "NYC"}}}</tool_call>',
    text: 'Let me check the weather.',
    calls: [['get_current_weather', { location: 'NYC' }, 'call_abc123']],
  },
  {
    name: 'an id that is a number',
    template: COMMAND_R7B,
    tools: TOOLS,
    input:
      'Let me search for that.<|START_ACTION|>[{"tool_call_id": 0, "tool_name": "get_current_weather", ' +
      '"parameters": {"location": "NYC", "unit": "celsius"}}]<|END_ACTION|>',
    text: 'Let me search for that.',
    calls: [['get_current_weather', { location: 'NYC', unit: 'celsius' }, '0']],
  },
  {
    name: 'Bailing V3',
    source:
      "<role>HUMAN</role><|role_end|>{{ '<tool_call>' + tc.name }}<arg_key>{{ k }}</arg_key>\n<arg_value>{{ v }}</arg_value>\n</tool_call>",
    tools: TOOLS,
    input:
      '<tool_call>test_function_name\n<arg_key>param1</arg_key>\n<arg_value>value1</arg_value>' +
      '<arg_key>param2</arg_key>\n<arg_value>value2</arg_value>\n</tool_call>',
    calls: [['test_function_name', { param1: 'value1', param2: 'value2' }]],
  },
  {
    name: 'quotes within values',
    template: 'ByteDance-Seed-OSS',
    tools: TOOLS,
    input:
      '<seed:tool_call>\n<function=edit>\n<parameter=filename>foo.cpp</parameter>\n' +
      '<parameter=oldString>def foo(arg = "14"):\n    return arg + "bar"\n\n</parameter>\n' +
      '<parameter=newString>def foo(arg = "15"):\n    pass\n\n</parameter>\n</function>\n</seed:tool_call>',
    calls: [
      [
        'edit',
        {
          filename: 'foo.cpp',
          oldString: 'def foo(arg = "14"):\n    return arg + "bar"\n\n',
          newString: 'def foo(arg = "15"):\n    pass\n\n',
        },
      ],
    ],
  },
];

for (const of of CASES) {
  test(`${of.name}, however it is cut`, () => {
    const { template = 'Qwen-Qwen3-0.6B', prompt = '', tools = [], calls = [] } = of;
    const dialect = dialectOf(of.source ?? readFileSync(fixture(`chat-templates/${template}.jinja`), 'utf8'));
    for (const pieces of [[of.input], ...splits(of.input)]) {
      const read = readAnswer(dialect, pieces, { tools, prompt });
      const where = JSON.stringify(read);
      assert.deepEqual([read.reasoning, read.text], [of.reasoning ?? '', of.text ?? ''], where);
      assert.deepEqual(
        read.calls.map(({ name, arguments: json, id, outcome }) => [name, JSON.parse(json), id, outcome]),
        calls.map(([name, given, id]) => [name, given, id, 'whole']),
        where,
      );
    }
  });
}

test('single quotes, escapes and quotes within quotes become JSON', () => {
  const values: readonly [written: string, value: unknown][] = [
    ["{'key': 'value'}", { key: 'value' }],
    ["{'code': 'print(\\'hello\\')'}", { code: "print('hello')" }],
    ["{'msg': 'He said \"hi\"'}", { msg: 'He said "hi"' }],
    ["{'path': 'C:\\\\Users\\\\test'}", { path: 'C:\\Users\\test' }],
    ["{'text': 'line1\\nline2'}", { text: 'line1\nline2' }],
    ['{"already_double": \'single_value\'}', { already_double: 'single_value' }],
    [
      "{'filename': 'foo.cpp', 'oldString': 'def foo(arg = \"14\"):\\n    return arg + \"bar\"\\n'}",
      { filename: 'foo.cpp', oldString: 'def foo(arg = "14"):\n    return arg + "bar"\n' },
    ],
  ];
  const dialect = dialectOf('<|tool_call_start|>');
  for (const [written, value] of values) {
    const answer = `<|tool_call_start|>[f(x=${written})]<|tool_call_end|>`;
    for (const pieces of splits(answer)) {
      const { calls } = readAnswer(dialect, pieces, { tools: [tool('f', { x: {} })] });
      assert.deepEqual(
        calls.map((call) => JSON.parse(call.arguments) as unknown),
        [{ x: value }],
        written,
      );
    }
  }
});

test('the marks of reasoning in templates', () => {
  const marks: Readonly<Record<string, readonly [string, string]>> = {
    'NVIDIA-Nemotron-3-Nano-30B-A3B-BF16': ['<think>', '</think>'],
    'poolside-Laguna-XS-2.1': ['<think>', '</think>'],
    'poolside-Laguna-S-2.1': ['<think>', '</think>'],
    'poolside-Laguna-XS.2': ['<think>', '</think>'],
    [COMMAND_R7B]: ['<|START_THINKING|>', '<|END_THINKING|>'],
    'HuggingFaceTB-SmolLM3-3B': ['<think>', '</think>'],
  };
  for (const [name, [open, close]] of Object.entries(marks)) {
    const dialect = dialectOf(readFileSync(fixture(`chat-templates/${name}.jinja`), 'utf8'));
    assert.deepEqual(
      [dialect.reasoning.open, dialect.reasoning.close, dialect.thinks],
      [open, close, true],
      name,
    );
  }
});

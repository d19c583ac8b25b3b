import { functionCalls } from './calls/function-calls.ts';
import { FUNCTIONARY_31_CALLS, LLAMA_CALLS } from './calls/llama-calls.ts';
import type { NamedCalls } from './call-forms.ts';
import { namedCalls } from './calls/named-calls.ts';
import { nestedTagCalls } from './calls/nested-tag-calls.ts';
import { objectCalls } from './calls/object-calls.ts';
import { parameterCalls } from './calls/parameter-calls.ts';
import type { CallSyntax } from './call-context.ts';
import type { ReasoningForm, TemplateDialect } from './dialect.ts';
import { FUNCTIONARY_32, GPT_OSS, KIMI_K3, MUSE } from './custom-dialects.ts';

/** A dialect, and the words in the source of a chat template that identify it, all of which must occur. */
interface Known {
  readonly words: readonly string[];
  readonly name: string;
  readonly calls: CallSyntax;
  readonly reasoning?: Partial<ReasoningForm>;
  readonly ignored?: readonly string[];
  readonly idLength?: number;
}

const THINK: ReasoningForm = { open: '<think>', close: '</think>' };

/** How reasoning is marked, identified by a template's source; the first match applies. */
const REASONING: readonly ReasoningForm[] = [
  { open: '[THINK]', close: '[/THINK]' },
  { open: '<|START_THINKING|>', close: '<|END_THINKING|>' },
  { open: '<seed:think>', close: '</seed:think>' },
  { open: '<mm:think>', close: '</mm:think>' },
  { open: '<|inner_prefix|>', close: '<|inner_suffix|>' },
  { open: '<|channel>thought', close: '<channel|>', isAnywhere: true },
  { open: 'Here are my reasoning steps:', close: '[BEGIN FINAL RESPONSE]' },
  { open: '<|think|>', close: '<|end|>', forced: '<|end|><|begin|>assistant<|content|>' },
];

/** Nous Research's Hermes format, which Qwen and many others were trained on. */
const HERMES: Known = {
  words: ['<tool_call>'],
  name: 'hermes',
  calls: objectCalls({ open: ['<tool_call>'], close: '</tool_call>', written: { padding: '\n' } }),
};

const LIST = { isList: true };
const COHERE_KEYS = { name: 'tool_name', arguments: 'parameters' };

/** `[TOOL_CALLS]NAME[ARGS]{…}`, with an id in between in some versions, or a list of objects as in the first. */
const MISTRAL: NamedCalls = {
  open: '[TOOL_CALLS]',
  id: { mark: '[CALL_ID]' },
  between: ['[ARGS]', '{'],
  orList: true,
};

const MISTRAL_LIST = objectCalls({
  open: ['[TOOL_CALLS]'],
  written: { isList: true, id: { key: 'id', length: 9 } },
});

const MISTRAL_NEMO: CallSyntax = {
  ...namedCalls(MISTRAL),
  rule: MISTRAL_LIST.rule,
  write: MISTRAL_LIST.write,
};

const QWEN_XML = parameterCalls({
  section: { open: '<tool_call>', close: '</tool_call>', isOfOne: true },
  call: { open: '<function=', nameEnds: ['>'], close: '</function>' },
  parameter: {
    open: '<parameter=',
    keyEnds: [{ mark: '>' }],
    close: '</parameter>',
    isOnLines: true,
  },
});

const LFM2_CALLS = functionCalls({
  open: ['<|tool_call_start|>'],
  isList: true,
  bracket: '(',
  separator: '=',
  close: '<|tool_call_end|>',
});

function glmCalls(suffix = ''): CallSyntax {
  const tag = (name: string) => `<${name}${suffix}>`;
  return parameterCalls({
    ...(suffix !== '' && { section: { open: tag('tool_calls'), close: tag('/tool_calls') } }),
    call: {
      open: tag('tool_call'),
      nameEnds: suffix === '' ? ['\n'] : [tag('tool_sep'), '\n'],
      close: tag('/tool_call'),
    },
    parameter: {
      open: tag('arg_key'),
      keyEnds: [{ mark: tag('/arg_key') }],
      valueOpen: tag('arg_value'),
      close: tag('/arg_value'),
    },
  });
}

function dsmlCalls(section: string): CallSyntax {
  return parameterCalls({
    section: { open: `<｜DSML｜${section}>`, close: `</｜DSML｜${section}>` },
    call: { open: '<｜DSML｜invoke name="', nameEnds: ['">'], close: '</｜DSML｜invoke>' },
    parameter: {
      open: '<｜DSML｜parameter name="',
      keyEnds: [
        { mark: '" string="true">', isString: true },
        { mark: '" string="false">', isString: false },
        { mark: '">' },
      ],
      close: '</｜DSML｜parameter>',
    },
  });
}

const DEEPSEEK = {
  section: { open: '<｜tool▁calls▁begin｜>', close: '<｜tool▁calls▁end｜>' },
  open: '<｜tool▁call▁begin｜>',
  close: '<｜tool▁call▁end｜>',
};

/** The dialects, in search order. */
const KNOWN: readonly Known[] = [
  {
    words: ['DSML', 'function_calls'],
    name: 'deepseek-v3.2',
    calls: dsmlCalls('function_calls'),
    reasoning: { isEndedByCalls: true },
  },
  {
    words: ['DSML', 'tool_calls'],
    name: 'deepseek-v4',
    calls: dsmlCalls('tool_calls'),
    reasoning: { isEndedByCalls: true },
  },
  {
    words: ['tool▁calls▁begin', '```json'],
    name: 'deepseek-r1',
    calls: namedCalls({
      ...DEEPSEEK,
      type: 'function<｜tool▁sep｜>',
      between: ['```json', '<｜tool▁sep｜>', '{'],
      written: { before: '\n```json\n', behind: '\n```' },
    }),
    reasoning: { isEndedByCalls: true },
  },
  {
    words: ['tool▁calls▁begin'],
    name: 'deepseek-v3.1',
    calls: namedCalls({ ...DEEPSEEK, between: ['<｜tool▁sep｜>'] }),
    reasoning: { isEndedByCalls: true },
  },
  {
    words: ['<|tool_call_argument_begin|>'],
    name: 'kimi-k2',
    calls: namedCalls({
      section: { open: '<|tool_calls_section_begin|>', close: '<|tool_calls_section_end|>' },
      open: '<|tool_call_begin|>',
      between: ['<|tool_call_argument_begin|>'],
      close: '<|tool_call_end|>',
      isNumbered: true,
    }),
    reasoning: { isEndedByCalls: true },
  },
  {
    words: ['<|tool_call:begin|>'],
    name: 'solar',
    calls: namedCalls({
      section: { open: '<|tool_calls|>', close: '<|end|>' },
      open: '<|tool_call:begin|>',
      id: { mark: '<|tool_call:name|>', isFirst: true },
      between: ['<|tool_call:args|>'],
      written: { idLength: 10 },
      close: '<|tool_call:end|>',
    }),
    ignored: ['<|begin|>assistant', '<|content|>', '<|end|>'],
    idLength: 10,
  },
  { words: [']<]minimax[>['], name: 'minimax-m3', calls: nestedTagCalls(']<]minimax[>[') },
  {
    words: ['<minimax:tool_call>'],
    name: 'minimax-m2',
    calls: parameterCalls({
      section: { open: '<minimax:tool_call>', close: '</minimax:tool_call>' },
      call: { open: '<invoke name="', nameEnds: ['">'], close: '</invoke>' },
      parameter: { open: '<parameter name="', keyEnds: [{ mark: '">' }], close: '</parameter>' },
    }),
  },
  {
    words: ['<seed:tool_call>'],
    name: 'seed-oss',
    calls: parameterCalls({
      section: { open: '<seed:tool_call>', close: '</seed:tool_call>', isOfOne: true },
      call: { open: '<function=', nameEnds: ['>'], close: '</function>' },
      parameter: { open: '<parameter=', keyEnds: [{ mark: '>' }], close: '</parameter>' },
    }),
  },
  {
    words: ['<|tool_call>', '<tool_call|>'],
    name: 'gemma-4',
    calls: functionCalls({
      open: ['<|tool_call>'],
      isList: false,
      prefix: 'call:',
      bracket: '{',
      separator: ':',
      quote: '<|"|>',
      close: '<tool_call|>',
    }),
    ignored: ['<|channel>'],
  },
  {
    words: ['<arg_key>'],
    name: 'glm-4.5',
    calls: glmCalls(),
    reasoning: { isEndedByCalls: true },
    ignored: ['<|role_end|>'],
  },
  {
    words: ['<function name=', '<param name='],
    name: 'minicpm-5',
    calls: parameterCalls({
      call: { open: '<function name="', nameEnds: ['">'], close: '</function>' },
      parameter: { open: '<param name="', keyEnds: [{ mark: '">' }], close: '</param>' },
    }),
  },
  {
    words: ['<parameter='],
    name: 'qwen3-coder',
    calls: QWEN_XML,
    reasoning: { isEndedByCalls: true },
  },
  {
    words: ['[TOOL_CALLS]', '[CALL_ID]'],
    name: 'mistral-small-3.2',
    calls: namedCalls({ ...MISTRAL, written: { idLength: 9 } }),
    idLength: 9,
  },
  {
    words: ['[TOOL_CALLS]', '[ARGS]'],
    name: 'mistral',
    calls: namedCalls(MISTRAL),
    idLength: 9,
  },
  {
    words: ['[TOOL_CALLS]'],
    name: 'mistral-nemo',
    calls: MISTRAL_NEMO,
    idLength: 9,
  },
  {
    words: ['<|START_ACTION|>'],
    name: 'command-r7b',
    calls: objectCalls({
      open: ['<|START_ACTION|>'],
      close: '<|END_ACTION|>',
      written: {
        isList: true,
        keys: COHERE_KEYS,
        id: { key: 'tool_call_id', isFirst: true, length: 'number' },
      },
    }),
    ignored: ['<|START_RESPONSE|>', '<|END_RESPONSE|>', '<|START_TEXT|>', '<|END_TEXT|>'],
  },
  {
    words: ['Action:', '```json', '<|CHATBOT_TOKEN|>'],
    name: 'command-r-plus',
    calls: objectCalls({
      open: ['Action:\n```json', 'Action: ```json'],
      close: '```',
      written: { isList: true, padding: '\n', keys: COHERE_KEYS },
    }),
    ignored: ['<|CHATBOT_TOKEN|>', '<|END_OF_TURN_TOKEN|>'],
  },
  {
    words: ['<|tools_prefix|>'],
    name: 'apertus',
    calls: objectCalls({
      open: ['<|tools_prefix|>'],
      close: '<|tools_suffix|>',
      isKeyed: true,
      written: { isList: true },
    }),
  },
  {
    words: ['<|tool_call_start|>'],
    name: 'lfm2',
    calls: LFM2_CALLS,
  },
  // LFM2's templates that leave formatting the assistant's calls to the caller.
  { words: ['List of tools: ', '<|im_start|>'], name: 'lfm2', calls: LFM2_CALLS },
  { words: ['functools['], name: 'firefunction', calls: objectCalls({ open: ['functools'], written: LIST }) },
  {
    words: ['<TOOLCALL>'],
    name: 'nemotron-v2',
    calls: objectCalls({ open: ['<TOOLCALL>'], close: '</TOOLCALL>', written: LIST }),
  },
  {
    words: ['<tool_calls>'],
    name: 'tool-calls',
    calls: objectCalls({ open: ['<tool_calls>'], close: '</tool_calls>', written: LIST }),
  },
  {
    words: ["'function call'", '<|role_sep|>'],
    name: 'gigachat-3',
    calls: objectCalls({
      open: ['<|message_sep|>\n\nfunction call<|role_sep|>', 'function call<|role_sep|>'],
    }),
  },
  { words: ['<|function_call|>'], name: 'gigachat-3.1', calls: objectCalls({ open: ['<|function_call|>'] }) },
  {
    words: ['<|tool_call|>'],
    name: 'granite-3',
    calls: objectCalls({ open: ['<|tool_call|>'], close: '<|/tool_call|>', written: LIST }),
    ignored: ['<response>', '</response>'],
  },
  HERMES,
  {
    words: ['<function='],
    name: 'functionary-v3.1',
    calls: FUNCTIONARY_31_CALLS,
  },
  { words: ['"parameters": dictionary'], name: 'llama-3', calls: LLAMA_CALLS },
];

/** Dialects whose answers are more than reasoning, text and calls. */
const OF_THEIR_OWN: readonly { readonly words: readonly string[]; readonly dialect: TemplateDialect }[] = [
  { words: ['<|channel|>', '<|message|>', 'analysis'], dialect: GPT_OSS },
  { words: ['atem:function_calls'], dialect: MUSE },
  { words: ['>>>all'], dialect: FUNCTIONARY_32 },
  { words: ["open_tag('think')", '<|sep|>'], dialect: KIMI_K3 },
];

/** The dialect of a chat template; the Hermes format if none is identified. */
export function dialectOf(templateSource: string): TemplateDialect {
  const holds = ({ words }: { readonly words: readonly string[] }) =>
    words.every((word) => templateSource.includes(word));
  const own = OF_THEIR_OWN.find(holds);
  if (own) return own.dialect;
  const suffix = /HYTK = '([^']*)'/.exec(templateSource)?.[1];
  if (suffix !== undefined) return hunyuan(suffix);
  const { name, calls, reasoning, ignored, idLength } = KNOWN.find(holds) ?? HERMES;
  const form = REASONING.find(({ open, close }) => holds({ words: [open, close] })) ?? THINK;
  return {
    name,
    calls,
    write: calls.write,
    reasoning: { ...form, ...reasoning },
    thinks: [form.open, form.close].some((mark) => templateSource.includes(mark)),
    ...(ignored && { ignored }),
    ...(idLength !== undefined && { idLength }),
  };
}

/** Hunyuan 3, whose markers end with a word that the template chooses. */
function hunyuan(suffix: string): TemplateDialect {
  const calls = glmCalls(suffix);
  return {
    name: 'hunyuan-3',
    calls,
    write: calls.write,
    thinks: true,
    reasoning: { open: `<think${suffix}>`, close: `</think${suffix}>`, isEndedByCalls: true },
  };
}

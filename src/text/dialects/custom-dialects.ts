import { plainText } from '../template-text.ts';
import { parameterCalls } from './calls/parameter-calls.ts';
import { HARMONY, readChannels } from './channels.ts';
import { functionaryRule, harmonyRule, kimi3Rule, museRule } from './forced/custom-rules.ts';
import type { AnswerContext, Dialect, TemplateDialect } from './dialect.ts';
import { readArguments } from './calls/object-call.ts';
import { readProgram } from './calls/llama-calls.ts';
import type { Reading } from './scanner.ts';

/** The text from the last of these markers in a prompt on, including the marker. */
function behindLast(prompt: string, mark: string): string {
  const at = prompt.lastIndexOf(mark);
  return at < 0 ? '' : prompt.slice(at + mark.length);
}

/** Answers that are passed on unparsed. */
export const PLAIN: Dialect = {
  name: 'plain',
  reasoning: { open: '<think>', close: '</think>' },
  opening: () => '',
  *read({ scanner, emitText }) {
    yield* scanner.until([], emitText);
  },
};

/** What precedes the arguments of a call in harmony. */
const JSON_BODY = '<|constrain|>json<|message|>';

/** gpt-oss: OpenAI's harmony format. */
export const GPT_OSS: TemplateDialect = {
  name: 'harmony',
  thinks: true,
  rule: harmonyRule,
  write: (calls) =>
    calls
      .map((call) => `<|channel|>commentary to=functions.${call.name} ${JSON_BODY}${call.arguments}<|call|>`)
      .join('\n'),
  reasoning: {
    open: '<|channel|>analysis<|message|>',
    close: '<|end|>',
    forced: '<|end|><|start|>assistant<|channel|>final<|message|>',
  },
  opening: (prompt) => behindLast(prompt, '<|start|>assistant'),
  read: (context) => readChannels(context, HARMONY),
};

const ATEM = parameterCalls({
  section: { open: '<atem:function_calls>', close: '</atem:function_calls>' },
  call: { open: '<atem:invoke name="', nameEnds: ['">'], close: '</atem:invoke>' },
  parameter: {
    open: '<atem:parameter name="',
    keyEnds: [{ mark: '">' }],
    close: '</atem:parameter>',
  },
});

/** Muse Glimmer: messages to itself, to the user and to tools, with calls as XML. */
export const MUSE: TemplateDialect = {
  name: 'atem',
  thinks: true,
  rule: (rules, form) => museRule(rules, form, ATEM),
  write: (calls) =>
    calls.map((call) => ` to=${call.name}<|message|>${plainText(ATEM.write([call]))}<|eom|>`).join('\n'),
  reasoning: {
    open: ' to=self<|message|>',
    close: '<|eom|>',
    forced: '<|eom|><|start|>assistant to=user<|message|>',
  },
  opening: (prompt) => behindLast(prompt, '<|start|>assistant'),
  read: (context) =>
    readChannels(context, {
      ends: ['<|eom|>', '<|eot|>', '<|start|>'],
      recipientOf(header) {
        const to = /to=([^\s<]+)/.exec(header)?.[1] ?? 'user';
        if (to === 'self') return 'reasoning';
        return to === 'user' ? 'answer' : { tool: to };
      },
      *readCalls(within) {
        const { scanner } = within;
        const start = yield* scanner.takeSpaced(ATEM.starts);
        return start !== undefined && (yield* ATEM.read(within, start));
      },
    }),
};

/** functionary v3.2: messages to `all` and to tools. */
export const FUNCTIONARY_32: TemplateDialect = {
  name: 'functionary-v3.2',
  rule: functionaryRule,
  write: (calls) => calls.map(({ name, arguments: given }) => `>>>${name}\n${given}`).join('\n'),
  reasoning: { open: '<think>', close: '</think>' },
  opening: (prompt) => behindLast(prompt, '>>>'),
  read: readFunctionary,
};

/** `all` and a text, or a tool's name and its arguments, separated by `>>>`. */
function* readFunctionary(context: AnswerContext): Reading<void> {
  const { scanner, tools } = context;
  const heads = ['all', ...tools.keys()].map((name) => `${name}\n`);
  const marks = heads.map((head) => `>>>${head}`);
  let head = yield* scanner.takeAny(heads);
  if (head === undefined) {
    const mark = yield* scanner.until(marks, context.emitText);
    head = mark?.slice('>>>'.length);
  }
  while (head !== undefined) {
    let mark: string | undefined;
    if (head === 'all\n') mark = yield* scanner.until(marks, context.emitText);
    else {
      yield* readFunctionaryCall(context, head.trim());
      mark = yield* scanner.until(marks, context.emitText);
    }
    head = mark?.slice('>>>'.length);
    scanner.forget();
  }
}

function* readFunctionaryCall(context: AnswerContext, name: string): Reading<void> {
  yield* context.scanner.spaces();
  const first = yield* context.scanner.peek();
  if (name === 'python' && first !== '{' && first !== undefined) yield* readProgram(context, name);
  else {
    context.beginCall(name);
    yield* readArguments(context);
  }
}

const SEP = '<|sep|>';
const THINK = '<|open|>think<|sep|>';
const K3_CALLS = parameterCalls({
  call: {
    open: '<|open|>call tool="',
    nameEnds: ['"'],
    number: { open: ' index="', close: `"${SEP}` },
    close: '<|close|>call<|sep|>',
  },
  object: { open: '<|open|>json type="object"<|sep|>', close: '<|close|>json<|sep|>' },
  parameter: {
    open: '<|open|>argument key="',
    keyEnds: [
      ...['string', 'number', 'boolean', 'null', 'object', 'array'].map((type) => ({
        mark: `" type="${type}"<|sep|>`,
        isString: type === 'string',
        type,
      })),
    ],
    close: '<|close|>argument<|sep|>',
  },
});

/** Kimi K3: everything is in tags made of control tokens. */
export const KIMI_K3: TemplateDialect = {
  name: 'kimi-k3',
  thinks: true,
  rule: (rules, form) => kimi3Rule(rules, form, K3_CALLS),
  write: (calls) => `<|open|>tools<|sep|>${plainText(K3_CALLS.write(calls))}<|close|>tools<|sep|>`,
  reasoning: {
    open: '<|open|>think<|sep|>',
    close: '<|close|>think<|sep|><|open|>response<|sep|>',
  },
  opening: (prompt) => behindLast(prompt, '<|open|>message role="assistant"<|sep|>'),
  read: readKimi3,
};

/** Sections between tags: `think`, `response`, and `tools`, which contains calls. */
function* readKimi3(context: AnswerContext): Reading<void> {
  const { scanner, tools } = context;
  const [call = ''] = K3_CALLS.starts;
  const marks = [THINK, '<|open|>', '<|close|>', ...(tools.size > 0 ? [call] : [])];
  let give: (text: string) => void = context.emitText;
  for (;;) {
    const mark = yield* scanner.until(marks, give);
    if (mark === undefined) return;
    give = mark === THINK ? context.emitReasoning : context.emitText;
    context.markReasoning(mark === THINK);
    const behind = scanner.place;
    if (mark === call) {
      if (!(yield* K3_CALLS.read(context, call))) scanner.goTo(behind);
    } else if (mark !== THINK) yield* scanner.until([SEP], () => undefined);
    scanner.forget();
  }
}

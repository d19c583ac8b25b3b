import type { CallContext, CallSyntax } from '../call-context.ts';
import { escaped } from '../json-text.ts';
import type { Reading } from '../scanner.ts';
import { readFields } from './function-calls.ts';
import { namedCalls } from './named-calls.ts';
import { objectCalls } from './object-calls.ts';

const PYTHON_TAG = '<|python_tag|>';
const OBJECTS = ['{"name": "', '{"type": "function", "name": "', '{"name":"'];
/** The names of tools that run code. */
const INTERPRETERS = ['python', 'ipython', 'code_interpreter'];

const LLAMA_OBJECTS = objectCalls({
  open: OBJECTS,
  written: { keys: { name: 'name', arguments: 'parameters' } },
});

/** `<function=NAME>{…}</function>`. */
const TAGGED = namedCalls({ open: '<function=', between: ['>'], close: '</function>' });
const [FUNCTION_TAG = ''] = TAGGED.starts;

/** functionary v3.1: function tags, and code after `<|python_tag|>`. */
export const FUNCTIONARY_31_CALLS: CallSyntax = {
  starts: [FUNCTION_TAG, PYTHON_TAG],
  read: (context, start) => (start === PYTHON_TAG ? readPython(context) : TAGGED.read(context, start)),
  rule: (rules) => TAGGED.rule(rules),
  write: TAGGED.write,
};

/**
 * Llama 3.x: a bare JSON object, or after `<|python_tag|>` such an object, `NAME.call(KEY=VALUE)`, or code for the tool
 * that runs Python; or a function tag, which prompts may request.
 */
export const LLAMA_CALLS: CallSyntax = {
  starts: [PYTHON_TAG, FUNCTION_TAG, ...OBJECTS],
  beginsAnswer: true,
  *read(context, start) {
    const { scanner } = context;
    if (start === FUNCTION_TAG) return yield* TAGGED.read(context, start);
    if (start === PYTHON_TAG) {
      yield* scanner.spaces();
      if ((yield* scanner.peek()) !== '{') return yield* readPython(context);
    }
    return yield* LLAMA_OBJECTS.read(context, start);
  },
  rule: (rules) => LLAMA_OBJECTS.rule(rules),
  write: LLAMA_OBJECTS.write,
};

function* readPython(context: CallContext): Reading<boolean> {
  const { scanner, tools } = context;
  const calls = [...tools.keys()].map((name) => `${name}.call(`);
  const call = yield* scanner.takeAny(calls);
  if (call !== undefined) {
    context.beginCall(call.slice(0, -'.call('.length));
    const isWhole = yield* readFields(context, { bracket: '(', separator: '=' });
    context.endCall(isWhole ? 'whole' : scanner.isAtEnd ? 'cut' : 'malformed');
    return true;
  }
  const interpreter = INTERPRETERS.find((name) => tools.has(name));
  if (interpreter === undefined) return false;
  yield* readProgram(context, interpreter);
  return true;
}

/** Parses the rest of the text as code for a tool: its first parameter. */
export function* readProgram(context: CallContext, name: string): Reading<void> {
  const [parameter = 'code'] = context.tools.get(name)?.properties.keys() ?? [];
  context.beginCall(name);
  context.emitArguments(`{${JSON.stringify(parameter)}: "`);
  yield* context.scanner.until([], (text) => context.emitArguments(escaped(text)));
  // Code has no closing marker: whether it is complete depends on why the text ended.
  if (!context.scanner.isCut) context.emitArguments('"}');
  context.endCall(context.scanner.isCut ? 'cut' : 'whole');
}

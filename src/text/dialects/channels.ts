import { readArguments } from './calls/object-call.ts';
import { readProgram } from './calls/llama-calls.ts';
import type { AnswerContext } from './dialect.ts';
import type { Reading, Scanner } from './scanner.ts';

const MESSAGE = '<|message|>';
/** What a header may begin with; the prompt already contains the text before it. */
const HEADERS = ['<|channel|>', 'to=', '<|start|>', 'assistant', MESSAGE];

/** The recipient of a message, according to its header. */
export type Recipient = 'reasoning' | 'answer' | { readonly tool: string };

/** Answers that consist of messages: `HEADER<|message|>BODY`, with an end marker between them. */
export interface ChannelForm {
  readonly recipientOf: (header: string) => Recipient;
  readonly ends: readonly string[];
  /** Parses the calls in a body when it is not just the arguments. */
  readonly readCalls?: (context: AnswerContext) => Reading<boolean>;
}

/** Parses an answer that consists of messages. */
export function* readChannels(context: AnswerContext, form: ChannelForm): Reading<void> {
  const { scanner } = context;
  while (!scanner.isAtEnd) {
    if (!(yield* isHeader(scanner))) {
      yield* scanner.until(['<|start|>', '<|channel|>'], context.emitText);
      continue;
    }
    const from = scanner.place;
    const found = yield* scanner.until([MESSAGE], () => undefined);
    const header = scanner.written(from, scanner.place);
    if (found !== undefined) yield* readBody(context, form, form.recipientOf(header));
    else context.emitText(scanner.plain(from, scanner.place));
    scanner.forget();
  }
}

/** True when a message's header follows. */
function* isHeader(scanner: Scanner): Reading<boolean> {
  const before = scanner.place;
  const begin = yield* scanner.takeSpaced(HEADERS);
  scanner.goTo(before);
  return begin !== undefined;
}

function* readBody(context: AnswerContext, form: ChannelForm, recipient: Recipient): Reading<void> {
  const { scanner, tools } = context;
  if (typeof recipient === 'object' && tools.has(recipient.tool)) {
    if (form.readCalls) yield* form.readCalls(context);
    else yield* readToolBody(context, recipient.tool);
    yield* scanner.until(form.ends, () => undefined);
  } else if (typeof recipient === 'object') {
    let text = '';
    yield* scanner.until(form.ends, (piece) => {
      text += piece;
    });
    context.reportUnknownTool(recipient.tool, text);
  } else if (recipient === 'answer') yield* scanner.until(form.ends, context.emitText);
  else {
    context.markReasoning(true);
    yield* scanner.until(form.ends, context.emitReasoning);
    context.markReasoning(false);
  }
}

function* readToolBody(context: AnswerContext, tool: string): Reading<void> {
  const { scanner } = context;
  yield* scanner.spaces();
  const first = yield* scanner.peek();
  if (first !== '{' && first !== undefined && tool === 'python') yield* readProgram(context, tool);
  else {
    context.beginCall(tool);
    yield* readArguments(context);
  }
}

/** gpt-oss: channels `analysis`, `commentary` and `final`, and calls to `functions.NAME`. */
export const HARMONY: ChannelForm = {
  ends: ['<|end|>', '<|call|>', '<|return|>', '<|start|>'],
  recipientOf(header) {
    const tool = /to=(?:functions\.)?([^\s<]+)/.exec(header)?.[1];
    if (tool !== undefined && tool !== 'assistant' && tool !== 'user') return { tool };
    const channel = [...header.matchAll(/<\|channel\|>\s*(\w+)/g)].at(-1)?.[1];
    return channel === 'analysis' ? 'reasoning' : 'answer';
  },
};

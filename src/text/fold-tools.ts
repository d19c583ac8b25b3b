import { TrustedText } from '../jinja/index.ts';
import { type ChatTool, type ChatToolCall, isObjectText } from './chat-message.ts';
import type { CallWriter, WrittenCall } from './dialects/index.ts';
import { withText } from './fold-into-user.ts';
import { type PreparedMessage, textOfContent } from './template-messages.ts';
import { joinTexts, type TemplateText } from './template-text.ts';

/** An example call that shows the syntax. */
const EXAMPLE: WrittenCall = { name: 'NAME', arguments: '{"PARAMETER": "VALUE"}', id: '000000000' };

/** The conversation with tools described in a system message. */
export function explainTools(
  messages: readonly PreparedMessage[],
  tools: readonly ChatTool[],
  write: CallWriter,
): PreparedMessage[] {
  const pieces: TemplateText[] = [
    'You may call functions to answer. They are:',
    ...tools.map((tool) => JSON.stringify(tool.function)),
    'A call is written like this, one after the other where there are several:',
    write([EXAMPLE]),
  ];
  const explained = joinTexts(pieces, '\n');
  const [first, ...rest] = messages;
  if (first?.role !== 'system') return [{ role: 'system', content: explained }, ...messages];
  const own = textOfContent(first.content);
  return [{ ...first, content: own === '' ? explained : joinTexts([own, explained], '\n\n') }, ...rest];
}

/** A message with its calls written into the text, in the model's syntax. */
export function withCallsInText(message: PreparedMessage, write: CallWriter): PreparedMessage {
  const { tool_calls: calls, ...rest } = message;
  return withText(rest as PreparedMessage, { behind: write((calls ?? []).map(writtenCall)) });
}

/** Arguments that are not a JSON object become the value of one, so that they are not lost. */
function writtenCall({ id, function: called }: ChatToolCall): WrittenCall {
  const { name, arguments: given } = called;
  const isText = typeof given === 'string';
  const text = isText ? given : JSON.stringify(given ?? {});
  return { id, name, arguments: isText && !isObjectText(text) ? JSON.stringify({ arguments: text }) : text };
}

/** Turns tool results into user messages, those of a turn combined in one, together with the user's next message. */
export function foldResults(messages: readonly PreparedMessage[]): PreparedMessage[] {
  const folded: PreparedMessage[] = [];
  let results: TemplateText[] = [];
  const end = (next: PreparedMessage | undefined) => {
    const text = results.length > 0 ? joinTexts(results, '\n') : undefined;
    results = [];
    if (text === undefined) return next;
    if (next?.role === 'user') return withText(next, { before: text });
    folded.push({ role: 'user', content: text });
    return next;
  };
  for (const message of messages) {
    if (message.role === 'tool' || message.role === 'function') results.push(resultOf(message));
    else folded.push(end(message) as PreparedMessage);
  }
  end(undefined);
  return folded;
}

function resultOf({ content }: PreparedMessage): TemplateText {
  const [open, close] = ['<tool_response>', '</tool_response>'].map((mark) => new TrustedText(mark));
  return joinTexts([open as TrustedText, textOfContent(content), close as TrustedText], '\n');
}

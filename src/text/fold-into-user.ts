import { isParts, type PreparedMessage, textOfContent } from './template-messages.ts';
import { joinTexts, type TemplateText } from './template-text.ts';

/**
 * Moves messages that the template would drop, given by their indices, into user messages: to the start of the
 * following one, the end of the previous one, or into a new one if there is neither. After a call, they come after its
 * results.
 */
export function foldIntoUser(
  messages: readonly PreparedMessage[],
  lost: ReadonlySet<number>,
): PreparedMessage[] {
  const folded: PreparedMessage[] = [];
  let waiting: TemplateText[] = [];
  for (const [index, message] of messages.entries()) {
    if (lost.has(index)) waiting.push(textOfContent(message.content));
    else if (waiting.length === 0 || message.role === 'tool') folded.push(message);
    else if (message.role === 'user') {
      folded.push(withText(message, { before: joinTexts(waiting, '\n') }));
      waiting = [];
    } else {
      addBehind(folded, waiting);
      waiting = [];
      folded.push(message);
    }
  }
  addBehind(folded, waiting);
  return folded;
}

/**
 * The same, with each message at the end of the last user message before it: templates may allow none after tool
 * results.
 */
export function foldIntoUserBefore(
  messages: readonly PreparedMessage[],
  lost: ReadonlySet<number>,
): PreparedMessage[] {
  const folded: PreparedMessage[] = [];
  for (const [index, message] of messages.entries()) {
    const at = folded.findLastIndex(({ role }) => role === 'user');
    if (lost.has(index) && at >= 0) {
      folded[at] = withText(folded[at] as PreparedMessage, { behind: textOfContent(message.content) });
    } else folded.push(message);
  }
  return folded;
}

/** Appends texts to what was said so far. */
function addBehind(folded: PreparedMessage[], texts: readonly TemplateText[]): void {
  if (texts.length === 0) return;
  const behind = joinTexts(texts, '\n');
  const last = folded.at(-1);
  if (last?.role === 'user') folded[folded.length - 1] = withText(last, { behind });
  else folded.push({ role: 'user', content: behind });
}

/** A message with a text before or after its own, on separate lines. */
export function withText(
  message: PreparedMessage,
  { before, behind }: { readonly before?: TemplateText; readonly behind?: TemplateText },
): PreparedMessage {
  const { content } = message;
  if (isParts(content)) {
    const first = before === undefined ? [] : [{ type: 'text', text: joinTexts([before, '\n']) }];
    const last = behind === undefined ? [] : [{ type: 'text', text: joinTexts(['\n', behind]) }];
    return { ...message, content: [...first, ...content, ...last] };
  }
  const own = textOfContent(content);
  const said = [before, own === '' ? undefined : own, behind].filter((text) => text !== undefined);
  return { ...message, content: joinTexts(said, '\n') };
}

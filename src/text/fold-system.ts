import type { TemplateMessage } from './chat-message.ts';
import { textOfParts } from './template-messages.ts';

/**
 * The conversation with messages that the template would leave out, by their indices, said by the user: before the next user
 * message, or where there is none in a message of their own.
 */
export function foldIntoUser(
  messages: readonly TemplateMessage[],
  lost: ReadonlySet<number>,
): TemplateMessage[] {
  const folded: TemplateMessage[] = [];
  let waiting: string[] = [];
  for (const [index, message] of messages.entries()) {
    if (lost.has(index)) waiting.push(textOf(message));
    else if (message.role === 'user') {
      folded.push(waiting.length > 0 ? withText(message, waiting.join('\n')) : message);
      waiting = [];
    } else folded.push(message);
  }
  if (waiting.length > 0) folded.push({ role: 'user', content: waiting.join('\n') });
  return folded;
}

function textOf({ content }: TemplateMessage): string {
  if (typeof content === 'string') return content;
  return Array.isArray(content) ? textOfParts(content) : '';
}

function withText(message: TemplateMessage, text: string): TemplateMessage {
  const { content } = message;
  if (Array.isArray(content))
    return { ...message, content: [{ type: 'text', text: `${text}\n` }, ...content] };
  return { ...message, content: typeof content === 'string' ? `${text}\n${content}` : text };
}

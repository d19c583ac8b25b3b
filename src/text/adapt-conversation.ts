import type { Logger } from '../base/log.ts';
import type { ChatToolCall, TemplateMessage } from './chat-message.ts';
import { foldIntoUser } from './fold-system.ts';
import type { TemplateForm } from './template-form.ts';
import { templateMessage, textOfParts } from './template-messages.ts';

/** What is known of a template, and who is told where a conversation is changed for it. */
export interface AdaptTo {
  /** The Jinja source. */
  readonly source: string;
  readonly form: TemplateForm;
  readonly withTools: boolean;
  readonly logger: Logger;
  /** Renders messages that are handed over as they are, with everything else that the conversation has. */
  render(messages: readonly unknown[]): string | undefined;
}

/** A text that stands for a message to see whether the template shows it. */
const PROBE = 'rfProbeMessage';

/**
 * The messages as a template reads them: contents, arguments and calls in the form that it knows, and system messages that it
 * would leave out or refuse said by the user.
 */
export function adaptConversation(
  messages: readonly TemplateMessage[],
  to: AdaptTo,
): Record<string, unknown>[] {
  const { messages: form } = to.form;
  tellOfLostTools(messages, to);
  const named = splitCalls(
    messages.map((message) => renamed(message, to.source)),
    to,
  );
  const shown = withLateSystems(withFirstSystem(named, to), to);
  return shown.map((message) => templateMessage(message, form));
}

/** A template that does not know a role knows the one that came before it, or after it. */
function renamed(message: TemplateMessage, source: string): TemplateMessage {
  const { role } = message;
  if (role === 'developer' && !source.includes('developer')) return { ...message, role: 'system' };
  const knowsFunctions = /role\b['"\])]*\s*(?:==|in)[^%}]*["']function["']/.test(source);
  return role === 'function' && !knowsFunctions ? { ...message, role: 'tool' } : message;
}

/** Some templates leave out calls, or what tools answered, without a word. */
function tellOfLostTools(messages: readonly TemplateMessage[], { form, logger }: AdaptTo): void {
  const calls = messages.filter(
    ({ tool_calls }) => Array.isArray(tool_calls) && tool_calls.length > 0,
  ).length;
  if (calls > 0 && !form.showsCalls)
    logger.warn('the chat template leaves out tool calls: the model does not see them', { messages: calls });
  const results = messages.filter(({ role }) => role === 'tool' || role === 'function').length;
  if (results > 0 && !form.showsToolResults)
    logger.warn('the chat template leaves out what tools answered: the model does not see it', {
      messages: results,
    });
}

/** Several calls in a message become a message each where the template would show the first alone. */
function splitCalls(messages: readonly TemplateMessage[], { form, logger }: AdaptTo): TemplateMessage[] {
  return messages.flatMap((message) => {
    const calls: readonly ChatToolCall[] = Array.isArray(message.tool_calls) ? message.tool_calls : [];
    if (calls.length < 2 || form.showsAllCalls) return [message];
    logger.warn('the chat template shows one call of a message: several become a message each', {
      calls: calls.length,
    });
    const { content, reasoning_content: _, ...rest } = message;
    return calls.map((call, i) =>
      i === 0
        ? { ...message, tool_calls: [call] }
        : { ...rest, content: content === null ? null : '', tool_calls: [call] },
    );
  });
}

function withFirstSystem(
  messages: readonly TemplateMessage[],
  { form, withTools, logger }: AdaptTo,
): readonly TemplateMessage[] {
  const others = messages.findIndex(({ role }) => role !== 'system');
  const first = messages.slice(0, others < 0 ? messages.length : others);
  if (first.every(isEmpty) || form.showsSystem(withTools)) return messages;
  logger.warn('the chat template has no system role: the system message goes into the first user message');
  return foldIntoUser(messages, new Set(first.keys()));
}

/** Further system messages, which some templates refuse, and others leave out without a word. */
function withLateSystems(
  messages: readonly TemplateMessage[],
  { form, render, logger }: AdaptTo,
): readonly TemplateMessage[] {
  const late = messages.flatMap(({ role }, i) => (i > 0 && role === 'system' ? [i] : []));
  if (late.length === 0) return messages;
  const probes = messages.map((message, i) =>
    late.includes(i) ? { ...message, content: `${PROBE}${i}z` } : message,
  );
  const text = render(probes.map((message) => templateMessage(message, form.messages)));
  if (text === undefined) return messages;
  const lost = late.filter(
    (i) => !isEmpty(messages[i] as TemplateMessage) && !text.includes(`${PROBE}${i}z`),
  );
  if (lost.length === 0) return messages;
  logger.warn('the chat template leaves out system messages: they go into the next user message', {
    messages: lost,
  });
  return foldIntoUser(messages, new Set(lost));
}

function isEmpty({ content }: TemplateMessage): boolean {
  const text = typeof content === 'string' ? content : Array.isArray(content) ? textOfParts(content) : '';
  return text.trim() === '';
}

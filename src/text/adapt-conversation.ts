import type { Logger } from '../base/log.ts';
import type { ChatTool, ChatToolCall } from './chat-message.ts';
import type { CallWriter } from './dialects/index.ts';
import { foldIntoUser, foldIntoUserBefore } from './fold-into-user.ts';
import { explainTools, foldResults, withCallsInText } from './fold-tools.ts';
import { type TemplateForm, toolWith } from './template-form.ts';
import { isNothing, type PreparedMessage, templateMessage, textOfContent } from './template-messages.ts';
import { plainText } from './template-text.ts';

/** A conversation, and the tools that its answer may call. */
export interface Conversation {
  readonly messages: readonly PreparedMessage[];
  readonly tools: readonly ChatTool[] | undefined;
}

/** What is known of a template, and the logger for changes. */
export interface AdaptTo {
  /** The Jinja source. */
  readonly source: string;
  readonly form: TemplateForm;
  /** Writes calls in the syntax of this template's model. */
  readonly write: CallWriter;
  readonly logger: Logger;
  /** Renders messages unchanged, with everything else that belongs to the conversation. */
  render(messages: readonly unknown[], tools: readonly ChatTool[] | undefined): string | undefined;
}

/** A conversation in the form that a template reads. */
export interface AdaptedConversation {
  readonly messages: Record<string, unknown>[];
  readonly tools: readonly ChatTool[] | undefined;
}

/** A text used as a message to test whether the template shows it. */
const PROBE = 'rfProbeMessage';

/**
 * Adapts a conversation to what a template supports. Content that it would drop, and roles that it refuses, are moved
 * into other messages: tools into a system message, calls into the assistant's text, tool results and system messages
 * into user messages.
 */
export function adaptConversation({ messages, tools }: Conversation, to: AdaptTo): AdaptedConversation {
  const named = messages.map((message) => renamed(message, to.source));
  const told = withTools({ messages: named, tools }, to);
  const adapting = { ...to, tools: told.tools, callForm: to.form.calls(told.tools !== undefined) };
  const turns = splitCalls(withResults(withCalls(told.messages, adapting), adapting), adapting);
  const late = withLateSystems(withFirstSystem(turns, adapting), adapting);
  // If a late system message was last, only now is it clear who speaks last.
  const shown = withFirstSystem(late, adapting);
  return { messages: handedOver(shown, adapting), tools: told.tools };
}

/** The state of adapting, once it is known which tools the template is given. */
interface Adapting extends AdaptTo {
  readonly tools: readonly ChatTool[] | undefined;
  readonly callForm: ReturnType<TemplateForm['calls']>;
}

function handedOver(messages: readonly PreparedMessage[], { form, callForm }: Adapting) {
  const how = form.messages(callForm);
  return messages.map((message) => templateMessage(message, how));
}

/** A template that does not know a role may know its older or newer equivalent. */
function renamed(message: PreparedMessage, source: string): PreparedMessage {
  const { role } = message;
  if (role === 'developer' && !source.includes('developer')) return { ...message, role: 'system' };
  const knowsFunctions = /role\b['"\])]*\s*(?:==|in)[^%}]*["']function["']/.test(source);
  return role === 'function' && !knowsFunctions ? { ...message, role: 'tool' } : message;
}

/** Describes tools in a system message if the template does not show them. */
function withTools({ messages, tools }: Conversation, { form, write, logger }: AdaptTo): Conversation {
  if (!tools) return { messages, tools };
  const how = form.tools(messages[0]?.role === 'system');
  if (how !== 'unknown') return { messages, tools: tools.map((tool) => toolWith(tool, how)) };
  logger.warn('the chat template shows no tools: they are described in the system message', {
    tools: tools.length,
  });
  return { messages: explainTools(messages, tools, write), tools: undefined };
}

/** Writes calls into their message's text if the template drops or refuses them. */
function withCalls(messages: readonly PreparedMessage[], { callForm, write, logger }: Adapting) {
  const { showsSilent, showsBesideText, showsText } = callForm;
  const calling = messages.filter(hasCalls);
  const beside = calling.filter(({ content }) => !isNothing(content));
  const lost = new Set([
    ...(showsSilent ? [] : calling.filter(({ content }) => isNothing(content))),
    ...(showsBesideText ? [] : beside),
  ]);
  if (beside.length > 0 && showsBesideText && !showsText) {
    logger.warn('the chat template leaves out what is said beside tool calls', { messages: beside.length });
  }
  if (lost.size === 0) return messages;
  logger.warn('the chat template leaves out tool calls: they stand in the text of their messages', {
    messages: lost.size,
  });
  return messages.map((message) => (lost.has(message) ? withCallsInText(message, write) : message));
}

function hasCalls({ tool_calls: calls }: PreparedMessage): boolean {
  return Array.isArray(calls) && calls.length > 0;
}

/** Turns tool results into user messages if the template drops or refuses them. */
function withResults(messages: readonly PreparedMessage[], { form, tools, logger }: Adapting) {
  const results = messages.filter(({ role }) => role === 'tool' || role === 'function').length;
  if (results === 0 || form.showsToolResults(tools !== undefined)) return messages;
  logger.warn('the chat template leaves out what tools answered: the user says it', { messages: results });
  return foldResults(messages);
}

/**
 * Splits several calls of a message into one message each, followed by its result, if the template does not take them
 * together.
 */
function splitCalls(messages: readonly PreparedMessage[], { form, logger }: Adapting): PreparedMessage[] {
  const several = messages.filter(({ tool_calls: calls }) => Array.isArray(calls) && calls.length > 1).length;
  if (several === 0 || form.showsAllCalls) return [...messages];
  logger.warn('the chat template takes one call of a message: several become a message each', {
    messages: several,
  });
  const split: PreparedMessage[] = [];
  let results: PreparedMessage[] = [];
  for (const [at, message] of messages.entries()) {
    if (results.includes(message)) continue;
    const calls: readonly ChatToolCall[] = message.tool_calls ?? [];
    if (!Array.isArray(calls) || calls.length < 2) {
      split.push(message);
      continue;
    }
    results = resultsBehind(messages, at);
    const left = new Set(results);
    const { content, reasoning_content: _, ...rest } = message;
    for (const [i, call] of calls.entries()) {
      const first =
        i === 0 ? message : { ...(rest as PreparedMessage), content: content === null ? null : '' };
      split.push({ ...first, tool_calls: [call] });
      for (const result of results) {
        if (call.id === undefined || result.tool_call_id !== call.id) continue;
        split.push(result);
        left.delete(result);
      }
    }
    split.push(...left);
  }
  return split;
}

/** The tool results that follow a message. */
function resultsBehind(messages: readonly PreparedMessage[], at: number): PreparedMessage[] {
  const behind = messages.slice(at + 1);
  const end = behind.findIndex(({ role }) => role !== 'tool' && role !== 'function');
  return behind.slice(0, end < 0 ? behind.length : end);
}

function withFirstSystem(messages: readonly PreparedMessage[], { form, tools, logger }: Adapting) {
  const others = messages.findIndex(({ role }) => role !== 'system');
  const first = messages.slice(0, others < 0 ? messages.length : others);
  const endsWith = messages.at(-1)?.role === 'tool' ? 'tool' : 'user';
  if (first.every(isEmpty) || form.showsSystem(tools !== undefined, endsWith)) return messages;
  logger.warn('the chat template shows no system message: it goes into the first user message');
  return foldIntoUser(messages, new Set(first.keys()));
}

/** Moves later system messages, which some templates refuse and others silently drop, or use instead of the first. */
function withLateSystems(messages: readonly PreparedMessage[], adapting: Adapting) {
  const { render, logger, tools } = adapting;
  const systems = messages.flatMap(({ role }, i) => (role === 'system' ? [i] : []));
  const late = systems.filter((i) => i > 0);
  if (late.length === 0) return messages;
  const probes = messages.map((message, i) =>
    systems.includes(i) ? { ...message, content: `${PROBE}${i}z` } : message,
  );
  const text = render(handedOver(probes, adapting), tools);
  const isShown = (i: number) => text?.includes(`${PROBE}${i}z`) === true;
  const lost = systems.filter((i) => !isEmpty(messages[i] as PreparedMessage) && !isShown(i));
  if (lost.length === 0) return messages;
  const folding = new Set(lost.includes(0) || text === undefined ? late : lost);
  const ways = [foldIntoUser(messages, folding), foldIntoUserBefore(messages, folding)];
  // If rendering fails anyway, the template's own error is more useful.
  const folded = ways.find((way) => render(handedOver(way, adapting), tools) !== undefined);
  if (!folded) return messages;
  logger.warn('the chat template does not take late system messages: they go into user messages', {
    messages: [...folding],
  });
  return folded;
}

function isEmpty({ content }: PreparedMessage): boolean {
  return plainText(textOfContent(content)).trim() === '';
}

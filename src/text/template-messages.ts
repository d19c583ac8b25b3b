import { JsonText, TrustedText } from '../jinja/index.ts';
import { type ChatToolCall, isObjectText } from './chat-message.ts';
import { joinTexts, type TemplateText } from './template-text.ts';

/** Roles that templates write into their markup, as in `<|user|>`, so they may count as the template's own text. */
const ROLES: ReadonlySet<string> = new Set([
  'system',
  'developer',
  'user',
  'assistant',
  'tool',
  'function',
  'ipython',
]);

/** Content as a list of parts. */
export type ContentParts = readonly Readonly<Record<string, unknown>>[];

/** A message being prepared for a template; text folded into its content may count as the template's own. */
export interface PreparedMessage {
  readonly role: string;
  readonly content?: TemplateText | ContentParts | null;
  readonly name?: string;
  readonly tool_calls?: readonly ChatToolCall[];
  readonly tool_call_id?: string;
  readonly [field: string]: unknown;
}

/** How a template expects what can be represented in several ways. */
export interface MessageForm {
  /** How to pass a role's content that is a list of parts: unchanged, or as text only. */
  parts(role: string): 'as they are' | 'as text';
  /** How to pass content that is a string: unchanged, or as a list of one part. */
  readonly strings: 'as they are' | 'as parts';
  /** How to pass arguments of calls: as objects, or as JSON text. */
  readonly callArguments: 'as objects' | 'as text';
  /** The content of calls without text: unchanged, null, or an empty string. */
  readonly silentCalls: 'as they are' | null | '';
}

/** A message in the form that a template reads. */
export function templateMessage(message: PreparedMessage, form: MessageForm): Record<string, unknown> {
  const { role, tool_calls: calls } = message;
  return {
    ...message,
    role: ROLES.has(role) ? new TrustedText(role) : role,
    ...contentOf(message, form),
    ...(Array.isArray(calls) && { tool_calls: calls.map((call: ChatToolCall) => callOf(call, form)) }),
  };
}

function contentOf(message: PreparedMessage, form: MessageForm): Record<string, unknown> {
  const { role, content, tool_calls: calls } = message;
  if (Array.isArray(calls) && isNothing(content)) {
    const { silentCalls } = form;
    return { content: silentCalls === 'as they are' ? (content ?? null) : silentCalls };
  }
  // Messages with only reasoning or folded calls: an empty content keeps templates from printing `None`.
  if (content === undefined || content === null) return { content: '' };
  if (!isParts(content)) {
    return form.strings === 'as parts' ? { content: [{ type: new TrustedText('text'), text: content }] } : {};
  }
  // Only the template knows how to handle an image.
  const isText = content.every(({ type }) => type === 'text');
  return {
    content: isText && form.parts(role) === 'as text' ? textOfParts(content) : content.map(trusted),
  };
}

/** Whether content is empty. */
export function isNothing(content: PreparedMessage['content']): boolean {
  return (
    content === undefined || content === null || content === '' || (isParts(content) && content.length === 0)
  );
}

/** Whether content is a list of parts. */
export function isParts(content: PreparedMessage['content']): content is ContentParts {
  return Array.isArray(content);
}

/** A part whose type counts as the template's own text, like roles. */
function trusted(part: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return part.type === 'text' ? { ...part, type: new TrustedText('text') } : part;
}

/** The text of content: the texts of its parts, one per line. */
export function textOfContent(content: PreparedMessage['content']): TemplateText {
  if (content === undefined || content === null) return '';
  return isParts(content) ? textOfParts(content) : content;
}

/** The texts of parts, one per line. */
function textOfParts(parts: ContentParts): TemplateText {
  return joinTexts(
    parts.map(({ text }) => (typeof text === 'string' || text instanceof TrustedText ? text : '')),
    '\n',
  );
}

function callOf(call: ChatToolCall, { callArguments }: MessageForm): unknown {
  const given = call.function?.arguments;
  if (callArguments === 'as text') {
    if (typeof given === 'string' || given === undefined) return call;
    return { ...call, function: { ...call.function, arguments: JSON.stringify(given) } };
  }
  if (typeof given !== 'string' || !isObjectText(given)) return call;
  return { ...call, function: { ...call.function, arguments: new JsonText(given) } };
}

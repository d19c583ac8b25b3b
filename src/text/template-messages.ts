import { JsonText, TrustedText } from '../jinja/index.ts';
import { type ChatToolCall, isObjectText } from './chat-message.ts';
import { joinTexts, type TemplateText } from './template-text.ts';

/** Roles that templates write into their markup, `<|user|>`: a template may take these letters for its own. */
const ROLES: ReadonlySet<string> = new Set([
  'system',
  'developer',
  'user',
  'assistant',
  'tool',
  'function',
  'ipython',
]);

/** Contents that are parts. */
export type ContentParts = readonly Readonly<Record<string, unknown>>[];

/** A turn on its way to a template: what was folded into its content may count as the template's own. */
export interface PreparedMessage {
  readonly role: string;
  readonly content?: TemplateText | ContentParts | null;
  readonly name?: string;
  readonly tool_calls?: readonly ChatToolCall[];
  readonly tool_call_id?: string;
  readonly [field: string]: unknown;
}

/** How a template wants what can be written in more than one way. */
export interface MessageForm {
  /** Contents of a role that are parts: as they are, or their text alone. */
  parts(role: string): 'as they are' | 'as text';
  /** Contents that are strings: as they are, or as a list of one part. */
  readonly strings: 'as they are' | 'as parts';
  /** Arguments of calls: as objects, or as JSON text. */
  readonly callArguments: 'as objects' | 'as text';
  /** What the content of calls is that say nothing beside: as it is, none, or an empty text. */
  readonly silentCalls: 'as they are' | null | '';
}

/** A message as a template reads it. */
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
  // What has only been thought, or called and folded: no template writes `None` for it.
  if (content === undefined || content === null) return { content: '' };
  if (!isParts(content)) {
    return form.strings === 'as parts' ? { content: [{ type: new TrustedText('text'), text: content }] } : {};
  }
  // Only the template can know what to do with an image.
  const isText = content.every(({ type }) => type === 'text');
  return {
    content: isText && form.parts(role) === 'as text' ? textOfParts(content) : content.map(trusted),
  };
}

/** Whether a content says nothing at all. */
export function isNothing(content: PreparedMessage['content']): boolean {
  return (
    content === undefined || content === null || content === '' || (isParts(content) && content.length === 0)
  );
}

/** Whether a content is a list of parts. */
export function isParts(content: PreparedMessage['content']): content is ContentParts {
  return Array.isArray(content);
}

/** A part whose kind counts as the template's own word, as roles do. */
function trusted(part: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return part.type === 'text' ? { ...part, type: new TrustedText('text') } : part;
}

/** What a content says: the texts of parts, a line each. */
export function textOfContent(content: PreparedMessage['content']): TemplateText {
  if (content === undefined || content === null) return '';
  return isParts(content) ? textOfParts(content) : content;
}

/** The texts of parts, a line each. */
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

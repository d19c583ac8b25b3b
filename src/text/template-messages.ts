import { JsonText, TrustedText } from '../jinja/index.ts';
import { type ChatToolCall, isObjectText, type TemplateMessage } from './chat-message.ts';

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

/** How a template wants what can be written in more than one way. */
export interface MessageForm {
  /** Contents of a role that are parts: as they are, or their text alone. */
  parts(role: string): 'as they are' | 'as text';
  /** Contents that are strings: as they are, or as a list of one part. */
  readonly strings: 'as they are' | 'as parts';
  /** Arguments of calls: as objects, or as JSON text. */
  readonly callArguments: 'as objects' | 'as text';
  /** What stands for the content of a call that has none. */
  readonly nothing: null | '';
}

/** A message as a template reads it. */
export function templateMessage(message: TemplateMessage, form: MessageForm): Record<string, unknown> {
  const { role, tool_calls: calls } = message;
  return {
    ...message,
    role: ROLES.has(role) ? new TrustedText(role) : role,
    ...contentOf(message, form),
    ...(Array.isArray(calls) && { tool_calls: calls.map((call: ChatToolCall) => callOf(call, form)) }),
  };
}

function contentOf(message: TemplateMessage, form: MessageForm): Record<string, unknown> {
  const { role, content, tool_calls: calls } = message;
  if (typeof content === 'string') {
    return form.strings === 'as parts' ? { content: [{ type: new TrustedText('text'), text: content }] } : {};
  }
  if (Array.isArray(content)) {
    // Only the template can know what to do with an image.
    const isText = content.every(({ type }) => type === 'text');
    return {
      content: isText && form.parts(role) === 'as text' ? textOfParts(content) : content.map(trusted),
    };
  }
  return Array.isArray(calls) && form.nothing === '' ? { content: '' } : {};
}

/** A part whose kind counts as the template's own word, as roles do. */
function trusted(part: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return part.type === 'text' ? { ...part, type: new TrustedText('text') } : part;
}

/** The texts of parts, a line each. */
export function textOfParts(parts: readonly Readonly<Record<string, unknown>>[]): string {
  return parts.map(({ text }) => (typeof text === 'string' ? text : '')).join('\n');
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

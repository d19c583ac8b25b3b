import { fail } from '../base/errors.ts';
import { nearestName } from '../base/options.ts';
import type { ChatMessage, ChatRole } from './chat-message.ts';

const ROLES: Readonly<Record<ChatRole, true>> = {
  system: true,
  developer: true,
  user: true,
  assistant: true,
  tool: true,
  function: true,
};

/** The fields that templates or rocmforge read. */
const FIELDS: ReadonlySet<string> = new Set([
  'role',
  'content',
  'name',
  'reasoning_content',
  'tool_calls',
  'tool_call_id',
  // Part of an answer that is sent back: ignored, because it was not a call.
  'incomplete_tool_calls',
]);

/** Kinds of parts that other programs understand. */
const MEDIA = /image|audio|video|file|media/i;

/**
 * Checks that a template can render every message: a role that models know or that the template's source mentions, a
 * content of text, and no unknown fields. Throws `INVALID_ARGUMENT`, `MEDIA_UNSUPPORTED` or `OPTION_UNKNOWN`.
 */
export function checkConversation(messages: readonly ChatMessage[], templateSource: string): void {
  if (!Array.isArray(messages) || messages.length === 0) {
    const found = Array.isArray(messages) ? 'none' : typeOf(messages);
    fail('INVALID_ARGUMENT', { name: 'messages', found, expected: 'a list of at least one' });
  }
  for (const [index, message] of messages.entries()) {
    const name = `messages[${index}]`;
    if (typeOf(message) !== 'object') {
      fail('INVALID_ARGUMENT', { name, found: typeOf(message), expected: 'an object with role and content' });
    }
    checkRole(name, message, templateSource);
    checkContent(name, message);
    for (const [field, value] of Object.entries(message)) {
      if (value === undefined || FIELDS.has(field) || templateSource.includes(field)) continue;
      const known = [...FIELDS];
      const nearest = nearestName(field, known);
      fail('OPTION_UNKNOWN', { of: name, option: field, nearest, known: known.join(', ') });
    }
  }
}

function checkRole(name: string, { role }: ChatMessage, templateSource: string): void {
  const given: unknown = role;
  if (typeof given === 'string') {
    if (Object.hasOwn(ROLES, given)) return;
    if (/^\w+$/.test(given) && new RegExp(`["']${given}["']`).test(templateSource)) return;
  }
  const known = Object.keys(ROLES);
  const nearest = typeof given === 'string' ? nearestName(given, known) : undefined;
  const expected = `one of ${known.join(', ')}, or one that the chat template names`;
  const found = typeof given === 'string' ? `"${given}"` : typeOf(given);
  fail('INVALID_ARGUMENT', {
    name: `${name}.role`,
    found: nearest === undefined ? found : `${found} (is "${nearest}" meant?)`,
    expected,
  });
}

/** Only assistant messages with calls or reasoning may have no content. */
function checkContent(name: string, { role, content, tool_calls, reasoning_content }: ChatMessage): void {
  if (typeof content === 'string') return;
  const expected = 'a text, or a list of parts {type: "text", text}';
  if (Array.isArray(content)) {
    for (const [index, part] of content.entries()) {
      const { type, text } = (part ?? {}) as { readonly type?: unknown; readonly text?: unknown };
      if (type === 'text' && typeof text === 'string') continue;
      if (typeof type === 'string' && MEDIA.test(type)) {
        fail('MEDIA_UNSUPPORTED', { where: `${name}.content[${index}]`, type });
      }
      const found = type === 'text' ? `a text that is ${typeOf(text)}` : `a part of type ${String(type)}`;
      fail('INVALID_ARGUMENT', { name: `${name}.content[${index}]`, found, expected });
    }
    return;
  }
  const isEmpty = content === undefined || content === null;
  const says = role === 'assistant' && (tool_calls?.length || reasoning_content !== undefined);
  if (isEmpty && says) return;
  fail('INVALID_ARGUMENT', { name: `${name}.content`, found: typeOf(content), expected });
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : value === undefined ? 'nothing' : typeof value;
}

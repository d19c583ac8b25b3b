import { isDeeper } from '../base/json-depth.ts';

/** Arguments nested deeper than this stay text: templates write objects recursively, and would exhaust the stack. */
const DEEPEST = 256;

/** A tool call of an assistant's message; `arguments` is an object, or JSON text as in OpenAI's API. */
export interface ChatToolCall {
  readonly id?: string;
  readonly type?: 'function';
  readonly function: {
    readonly name: string;
    readonly arguments: Readonly<Record<string, unknown>> | string;
  };
}

/** The role of a message. Templates may support others, which are accepted at run time. */
export type ChatRole = 'system' | 'developer' | 'user' | 'assistant' | 'tool' | 'function';

/** A message with any role, in the form that chat templates read. They may read further fields. */
export interface TemplateMessage {
  readonly role: string;
  readonly content?: string | readonly Readonly<Record<string, unknown>>[] | null;
  readonly name?: string;
  readonly reasoning_content?: string;
  readonly tool_calls?: readonly ChatToolCall[];
  readonly tool_call_id?: string;
  readonly [field: string]: unknown;
}

/** A message of a conversation. */
export interface ChatMessage extends TemplateMessage {
  readonly role: ChatRole;
}

/** A function that the model may call; `parameters` is a JSON schema. */
export interface ChatTool {
  readonly type: 'function';
  readonly function: {
    readonly name: string;
    readonly description?: string;
    readonly parameters?: Readonly<Record<string, unknown>>;
    readonly [field: string]: unknown;
  };
}

/** Whether arguments given as JSON text can be parsed into an object for a template. */
export function isObjectText(text: string): boolean {
  if (isDeeper(text, DEEPEST)) return false;
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed);
  } catch {
    return false;
  }
}

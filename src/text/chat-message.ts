import { isDeeper } from '../base/json-depth.ts';

/** Arguments that are nested deeper stay text: templates write objects level by level, and would exhaust the stack. */
const DEEPEST = 256;

/** A tool call of an assistant's message; `arguments` as an object, or as JSON text as OpenAI's API has it. */
export interface ChatToolCall {
  readonly id?: string;
  readonly type?: 'function';
  readonly function: {
    readonly name: string;
    readonly arguments: Readonly<Record<string, unknown>> | string;
  };
}

/** Whose turn it is. A template may know others; what it knows is taken where the program runs. */
export type ChatRole = 'system' | 'developer' | 'user' | 'assistant' | 'tool' | 'function';

/** One turn of a conversation, of whatever role, in the shape that chat templates read. They may read further fields. */
export interface TemplateMessage {
  readonly role: string;
  readonly content?: string | readonly Readonly<Record<string, unknown>>[] | null;
  readonly name?: string;
  readonly reasoning_content?: string;
  readonly tool_calls?: readonly ChatToolCall[];
  readonly tool_call_id?: string;
  readonly [field: string]: unknown;
}

/** One turn of a conversation. */
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

/** Whether arguments that are JSON text can be read into an object for a template. */
export function isObjectText(text: string): boolean {
  if (isDeeper(text, DEEPEST)) return false;
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed);
  } catch {
    return false;
  }
}

import { z } from 'zod';
import type { AnswerOptions, GenerateOptions } from '../../engine/generate-options.ts';
import type { TextModel } from '../../engine/text-model.ts';
import type { ChatMessage, ChatTool } from '../../text/index.ts';
import { invalid } from '../endpoint.ts';
import { requireTurnsFit } from './prompt-bounds.ts';
import type { Thinking } from './reasoning-fields.ts';

/** Which functions an answer may call. */
export interface ToolUse {
  readonly tools: readonly ChatTool[];
  /** Whether it must, or which one. */
  readonly choice: 'none' | 'auto' | 'required' | { readonly name: string };
  readonly isParallel: boolean;
}

/** What holds a text, in the names of the library. */
export type TextHold = Pick<GenerateOptions, 'schema' | 'json' | 'regex' | 'choices' | 'grammar'>;

/** What an answer is held to, and the tools that it may call. */
export type AnswerForm = TextHold & Pick<AnswerOptions, 'tools' | 'toolChoice' | 'parallelCalls'>;

/** A name that a tool can have. */
export const toolName = z.string().regex(/^[\w.-]{1,64}$/, 'a name of 1 to 64 letters, digits, _, - and .');

/** Longest description of all tools, in characters of JSON: a template writes it down in one go. */
const LONGEST_TOOLS = 384 * 1024;

/** A JSON schema. */
export const jsonSchema = z.record(z.string(), z.unknown());

/** The prompt of a conversation with tools. Rejects as `TextModel.chatPrompt`, and with `REQUEST_INVALID` for too long tools. */
export async function chatPrompt(
  model: TextModel,
  messages: readonly ChatMessage[],
  of: {
    use?: ToolUse | undefined;
    thinking?: Thinking | undefined;
    signal: AbortSignal;
  },
): Promise<number[]> {
  const { use, thinking, signal } = of;
  requireTurnsFit(model, messages);
  const tools = use && use.choice !== 'none' && use.tools.length > 0 ? use.tools : undefined;
  if (tools && JSON.stringify(tools).length > LONGEST_TOOLS) {
    invalid('tools', `they have more than ${LONGEST_TOOLS} characters`);
  }
  return model.chatPrompt(messages, { signal, ...thinking, ...(tools && { tools }) });
}

/** What an answer is held to. Throws `REQUEST_INVALID` where a tool is asked for that there is none of. */
export function answerForm(text: TextHold, use: ToolUse | undefined): AnswerForm {
  if (!use) return text;
  const { tools, choice: toolChoice, isParallel: parallelCalls } = use;
  const isForced = toolChoice === 'required' || typeof toolChoice === 'object';
  if (isForced && tools.length === 0) invalid('tool_choice', 'there are no tools');
  const name = typeof toolChoice === 'object' ? toolChoice.name : undefined;
  if (name !== undefined && !tools.some((tool) => tool.function.name === name)) {
    invalid('tool_choice', `there is no tool of the name ${name}`);
  }
  return { ...text, toolChoice, parallelCalls, tools: toolChoice === 'none' ? [] : tools };
}

import { z } from 'zod';
import type { LanguageModel } from '../../engine/language-model.ts';
import {
  type ChatMessage,
  type ChatTool,
  type Grammar,
  type StructuralTagFormat,
  type ToolDialect,
  toolDialectOf,
  toolFormat,
  withToolsExplained,
} from '../../text/index.ts';
import { invalid } from '../endpoint.ts';

/** Which functions an answer may call. */
export interface ToolUse {
  readonly tools: readonly ChatTool[];
  /** Whether it must, or which one. */
  readonly choice: 'none' | 'auto' | 'required' | { readonly name: string };
  readonly isParallel: boolean;
}

/** What the text of an answer must be. */
export type TextForm =
  | { readonly kind: 'text' }
  | { readonly kind: 'json' }
  | { readonly kind: 'schema'; readonly schema: unknown };

/** How calls are told from text in an answer. */
export interface CallForm {
  readonly dialect: ToolDialect;
  readonly names: readonly string[];
}

/** What an answer is held to, and how it is read. */
export interface AnswerForm {
  readonly grammar: Grammar | undefined;
  readonly calls: CallForm | undefined;
}

/** A name that a tool can have. */
export const toolName = z.string().regex(/^[\w.-]{1,64}$/, 'a name of 1 to 64 letters, digits, _, - and .');

/** A JSON schema. */
export const jsonSchema = z.record(z.string(), z.unknown());

/** The prompt of a conversation with tools. Rejects as `LanguageModel.chatPrompt`. */
export function chatPrompt(
  model: LanguageModel,
  messages: readonly ChatMessage[],
  of: {
    use?: ToolUse | undefined;
    variables?: Readonly<Record<string, unknown>> | undefined;
    signal: AbortSignal;
  },
): Promise<number[]> {
  const { use, variables, signal } = of;
  const tools = use && use.choice !== 'none' && use.tools.length > 0 ? use.tools : undefined;
  const rest = { signal, ...(variables && { variables }) };
  if (!tools) return model.chatPrompt(messages, rest);
  if (model.chatTemplate.source.includes('tools')) return model.chatPrompt(messages, { ...rest, tools });
  return model.chatPrompt(withToolsExplained(messages, tools), rest);
}

/** Throws `REQUEST_INVALID` where a tool is asked for that there is none of. */
export function answerForm(model: LanguageModel, text: TextForm, use: ToolUse | undefined): AnswerForm {
  const plain = text.kind === 'text' ? undefined : text;
  if (!use || use.choice === 'none' || use.tools.length === 0) {
    if (use && (use.choice === 'required' || typeof use.choice === 'object'))
      invalid('tool_choice', 'there are no tools');
    return { grammar: plain, calls: undefined };
  }
  const { choice } = use;
  const named = typeof choice === 'object' ? choice.name : undefined;
  const tools = named === undefined ? use.tools : use.tools.filter((tool) => tool.function.name === named);
  if (tools.length === 0) invalid('tool_choice', `there is no tool of the name ${named}`);
  const dialect = toolDialectOf(model.chatTemplate.source);
  const isRequired = choice !== 'auto';
  const isParallel = use.isParallel && named === undefined;
  const calls = { dialect, names: tools.map((tool) => tool.function.name) };
  if (isRequired || !plain) {
    return {
      grammar: { kind: 'tags', format: toolFormat(dialect, { tools, isRequired, isParallel }) },
      calls,
    };
  }
  const either: StructuralTagFormat = {
    type: 'or',
    elements: [
      {
        type: 'json_schema',
        json_schema: plain.kind === 'json' ? { type: 'object' } : (plain.schema as boolean),
      },
      toolFormat(dialect, { tools, isRequired: true, isParallel }),
    ],
  };
  return { grammar: { kind: 'tags', format: either }, calls };
}

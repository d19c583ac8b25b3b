import { z } from 'zod';
import type { LanguageModel } from '../../engine/language-model.ts';
import type { ChatMessage, ChatTool, Grammar, StructuralTagFormat } from '../../text/index.ts';
import { invalid } from '../endpoint.ts';
import type { Thinking } from './reasoning-fields.ts';
import { toolFormat } from './tool-format.ts';

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

/** What an answer is held to, and the tools that it may call. */
export interface AnswerForm {
  readonly grammar: Grammar | undefined;
  readonly tools: readonly ChatTool[];
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
    thinking?: Thinking | undefined;
    signal: AbortSignal;
  },
): Promise<number[]> {
  const { use, thinking, signal } = of;
  const tools = use && use.choice !== 'none' && use.tools.length > 0 ? use.tools : undefined;
  return model.chatPrompt(messages, { signal, ...thinking, ...(tools && { tools }) });
}

/** Throws `REQUEST_INVALID` where a tool is asked for that there is none of. */
export function answerForm(model: LanguageModel, text: TextForm, use: ToolUse | undefined): AnswerForm {
  const plain = text.kind === 'text' ? undefined : text;
  if (!use || use.choice === 'none' || use.tools.length === 0) {
    if (use && (use.choice === 'required' || typeof use.choice === 'object'))
      invalid('tool_choice', 'there are no tools');
    return { grammar: plain, tools: [] };
  }
  const { choice } = use;
  const named = typeof choice === 'object' ? choice.name : undefined;
  const tools = named === undefined ? use.tools : use.tools.filter((tool) => tool.function.name === named);
  if (tools.length === 0) invalid('tool_choice', `there is no tool of the name ${named}`);
  const isRequired = choice !== 'auto';
  const isParallel = use.isParallel && named === undefined;
  const rules = { tools, isRequired: isRequired || plain !== undefined, isParallel };
  const format = toolFormat(model.dialect.name, rules);
  if (!format) return unheld(model, { plain, isRequired, tools });
  if (isRequired || !plain) return { grammar: { kind: 'tags', format }, tools };
  const either: StructuralTagFormat = {
    type: 'or',
    elements: [
      {
        type: 'json_schema',
        json_schema: plain.kind === 'json' ? { type: 'object' } : (plain.schema as boolean),
      },
      format,
    ],
  };
  return { grammar: { kind: 'tags', format: either }, tools };
}

/** The form of an answer in a dialect whose calls cannot be forced: free text with calls. */
function unheld(
  model: LanguageModel,
  of: { plain: unknown; isRequired: boolean; tools: readonly ChatTool[] },
): AnswerForm {
  const { name } = model.dialect;
  if (of.isRequired) invalid('tool_choice', `calls of the dialect ${name} cannot be forced; use auto`);
  if (of.plain) invalid('response_format', `calls of the dialect ${name} go with free text only`);
  return { grammar: undefined, tools: of.tools };
}

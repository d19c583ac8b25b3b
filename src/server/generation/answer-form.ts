import { z } from 'zod';
import type { AnswerOptions, GenerateOptions } from '../../engine/generate-options.ts';
import type { TextModel } from '../../engine/text-model.ts';
import type { ChatMessage, ChatTool } from '../../text/index.ts';
import { invalid } from '../endpoint.ts';
import { requireTurnsFit } from './prompt-bounds.ts';
import type { RequestedReasoning } from './reasoning-fields.ts';
import type { RequestContext } from '../request-context.ts';

/** The functions that an answer may call. */
export interface ToolUse {
  readonly tools: readonly ChatTool[];
  /** Whether it must call one, or which. */
  readonly choice: 'none' | 'auto' | 'required' | { readonly name: string };
  readonly isParallel: boolean;
}

/** Constraints on a text, by the library's names. */
export type TextConstraint = Pick<GenerateOptions, 'schema' | 'json' | 'regex' | 'choices' | 'grammar'>;

/** The form of an answer, and the tools that it may call. */
export type AnswerForm = TextConstraint & Pick<AnswerOptions, 'tools' | 'toolChoice' | 'parallelCalls'>;

/** A valid tool name. */
export const toolName = z.string().regex(/^[\w.-]{1,64}$/, 'a name of 1 to 64 letters, digits, _, - and .');

/** Maximum length of all tool descriptions, in characters of JSON, because a template renders them in one run. */
const MAX_TOOLS_CHARACTERS = 384 * 1024;

/** A JSON schema. */
export const jsonSchema = z.record(z.string(), z.unknown());

/** What a prompt needs of its request. */
export type PromptContext = Pick<RequestContext, 'signal'> & {
  readonly server: Pick<RequestContext['server'], 'systemPrompt' | 'reasoning'>;
};

/**
 * The prompt of a conversation with tools. Rejects as `TextModel.chatPrompt`, and with `REQUEST_INVALID` if the tools
 * are too long.
 */
export async function chatPrompt(
  model: TextModel,
  messages: readonly ChatMessage[],
  of: {
    use?: ToolUse | undefined;
    thinking?: RequestedReasoning | undefined;
    /** The last message is the beginning of the answer. */
    continueFinal?: boolean;
    addGenerationPrompt?: boolean;
    call: PromptContext;
  },
): Promise<number[]> {
  const { use, thinking, continueFinal = false, addGenerationPrompt = true, call } = of;
  const { signal, server } = call;
  const turns = withSystem(messages, server.systemPrompt);
  requireTurnsFit(model, turns);
  const tools = use && use.choice !== 'none' && use.tools.length > 0 ? use.tools : undefined;
  if (tools && JSON.stringify(tools).length > MAX_TOOLS_CHARACTERS) {
    invalid('tools', `they have more than ${MAX_TOOLS_CHARACTERS} characters`);
  }
  const how = { signal, continueFinal, addGenerationPrompt };
  return model.chatPrompt(turns, { ...how, ...thinking, ...(tools && { tools }) });
}

/** The conversation with the server's system prompt, if it has none of its own. */
function withSystem(messages: readonly ChatMessage[], system: string | undefined): readonly ChatMessage[] {
  const hasOwn = messages.some(({ role }) => role === 'system' || role === 'developer');
  return system === undefined || hasOwn ? messages : [{ role: 'system', content: system }, ...messages];
}

/** The form of an answer. Throws `REQUEST_INVALID` if a required tool does not exist. */
export function answerForm(text: TextConstraint, use: ToolUse | undefined): AnswerForm {
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

/** Refuses a constraint on the whole answer where the request prefills its beginning. Throws `REQUEST_INVALID`. */
export function refuseConstrainedPrefill(form: AnswerForm, field: string): void {
  const { tools: _tools, toolChoice, parallelCalls: _parallel, ...constraint } = form;
  const isForced = toolChoice === 'required' || typeof toolChoice === 'object';
  if (isForced || Object.keys(constraint).length > 0) {
    invalid(
      field,
      'an answer of a given form, or with forced calls, cannot begin with a text of the request',
    );
  }
}

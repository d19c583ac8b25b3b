import type { ChatMessage, ChatTool } from '../chat-message.ts';
import type { StructuralTagFormat } from '../grammar/grammar-source.ts';

/** How a family of models writes a call: `begin(name)`, the arguments as a JSON object, `end`. */
export interface ToolDialect {
  /** What every beginning begins with; text that contains it is a call. */
  readonly trigger: string;
  begin(name: string): string;
  readonly end: string;
}

/** Nous Research's Hermes form, which Qwen and many others were trained on. */
const HERMES: ToolDialect = {
  trigger: '<tool_call>',
  begin: (name) => `<tool_call>\n{"name": ${JSON.stringify(name)}, "arguments": `,
  end: '}\n</tool_call>',
};

/** The bare JSON of Llama 3.1 and later. */
const LLAMA: ToolDialect = {
  trigger: '{"name": "',
  begin: (name) => `{"name": ${JSON.stringify(name)}, "parameters": `,
  end: '}',
};

/** The dialect that a chat template asks the model for. */
export function toolDialectOf(templateSource: string): ToolDialect {
  return templateSource.includes('"parameters": dictionary') ? LLAMA : HERMES;
}

/** Which calls an answer may or must have. */
export interface ToolRules {
  readonly tools: readonly ChatTool[];
  /** The answer is a call, or begins with one. */
  readonly isRequired: boolean;
  /** One call may follow another. */
  readonly isParallel: boolean;
}

/** The form of an answer with calls: free text in which every call is well-formed and its arguments are of the schema. */
export function toolFormat(
  dialect: ToolDialect,
  { tools, isRequired, isParallel }: ToolRules,
): StructuralTagFormat {
  return {
    type: 'triggered_tags',
    triggers: [dialect.trigger],
    tags: tools.map(({ function: { name, parameters } }) => ({
      type: 'tag',
      begin: dialect.begin(name),
      content: { type: 'json_schema', json_schema: { ...parameters, type: 'object' } },
      end: dialect.end,
    })),
    at_least_one: isRequired,
    stop_after_first: !isParallel,
  };
}

/** The conversation with the tools described in words, for templates that know none. */
export function withToolsExplained(
  messages: readonly ChatMessage[],
  tools: readonly ChatTool[],
): ChatMessage[] {
  const explained = [
    'You may call functions to answer. They are:',
    ...tools.map((tool) => JSON.stringify(tool.function)),
    'A call is written like this, one after the other where there are several:',
    `${HERMES.begin('NAME')}{"PARAMETER": VALUE}${HERMES.end}`,
  ].join('\n');
  const [first, ...rest] = messages;
  if (first?.role === 'system' && typeof first.content === 'string') {
    return [{ ...first, content: `${first.content}\n\n${explained}` }, ...rest];
  }
  return [{ role: 'system', content: explained }, ...messages];
}

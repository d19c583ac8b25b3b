import type { ChatTool, StructuralTagFormat } from '../../text/index.ts';

/** How a family of models writes a call: `begin(name)`, the arguments as a JSON object, `end`. */
interface CallForm {
  /** What every beginning begins with; text that contains it is a call. */
  readonly trigger: string;
  begin(name: string): string;
  readonly end: string;
}

/** Nous Research's Hermes form, which Qwen and many others were trained on. */
const HERMES: CallForm = {
  trigger: '<tool_call>',
  begin: (name) => `<tool_call>\n{"name": ${JSON.stringify(name)}, "arguments": `,
  end: '}\n</tool_call>',
};

/** The bare JSON of Llama 3.1 and later. */
const LLAMA: CallForm = {
  trigger: '{"name": "',
  begin: (name) => `{"name": ${JSON.stringify(name)}, "parameters": `,
  end: '}',
};

/** The forms that answers can be held to, by dialect. */
const FORMS: Readonly<Record<string, CallForm>> = { hermes: HERMES, 'llama-3': LLAMA };

/** Which calls an answer may or must have. */
export interface ToolRules {
  readonly tools: readonly ChatTool[];
  /** The answer is a call, or begins with one. */
  readonly isRequired: boolean;
  /** One call may follow another. */
  readonly isParallel: boolean;
}

/**
 * The form of an answer with calls: free text in which every call is well-formed and its arguments are of the schema;
 * undefined for a dialect that answers cannot be held to.
 */
export function toolFormat(
  dialect: string,
  { tools, isRequired, isParallel }: ToolRules,
): StructuralTagFormat | undefined {
  const form = FORMS[dialect];
  if (!form) return undefined;
  return {
    type: 'triggered_tags',
    triggers: [form.trigger],
    tags: tools.map(({ function: { name, parameters } }) => ({
      type: 'tag',
      begin: form.begin(name),
      content: { type: 'json_schema', json_schema: { ...parameters, type: 'object' } },
      end: form.end,
    })),
    at_least_one: isRequired,
    stop_after_first: !isParallel,
  };
}

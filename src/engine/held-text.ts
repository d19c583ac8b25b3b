import { fail } from '../base/errors.ts';
import type { AnswerTextForm, Dialect, TextForm } from '../text/index.ts';
import type { AnswerOptions, GenerateOptions } from './generate-options.ts';
import { jsonSchemaOf } from './typed-schema.ts';

/** The form of a text that is not an answer. */
type PlainForm = Exclude<TextForm, AnswerTextForm>;

/**
 * The form that the options require of a text; undefined for none. Throws `INVALID_ARGUMENT` if they require several.
 */
export function formOf(options: GenerateOptions): PlainForm | undefined {
  const { schema, json, regex, choices, grammar, constraint } = options;
  const forms: Readonly<Record<string, PlainForm | false | undefined>> = {
    schema: schema !== undefined && { kind: 'schema', schema: jsonSchemaOf(schema) },
    json: json === true && { kind: 'json' },
    regex: regex !== undefined && { kind: 'regex', pattern: regex },
    choices: choices && { kind: 'choices', choices },
    grammar: grammar !== undefined && { kind: 'gbnf', grammar },
  };
  const asked = Object.entries(forms).filter(([, form]) => form);
  const names = [...asked.map(([name]) => name), ...(constraint ? ['constraint'] : [])];
  if (names.length > 1) {
    fail('INVALID_ARGUMENT', { name: names.join(' and '), found: 'both', expected: 'one of them' });
  }
  if (choices?.length === 0) {
    fail('INVALID_ARGUMENT', { name: 'choices', found: 'none', expected: 'at least one text' });
  }
  return asked[0]?.[1] || undefined;
}

/** The form that the options require of an answer, including forced calls. Throws `INVALID_ARGUMENT`. */
export function answerFormOf(
  options: AnswerOptions,
  of: Pick<AnswerTextForm, 'template' | 'prompt' | 'mayThink'> & { readonly dialect: Dialect },
): AnswerTextForm | undefined {
  const { toolChoice = 'auto', parallelCalls: isParallel = true } = options;
  const named = typeof toolChoice === 'object' ? toolChoice.name : undefined;
  const isRequired = named !== undefined || toolChoice === 'required';
  const all = toolChoice === 'none' ? [] : (options.tools ?? []);
  const tools = named === undefined ? all : all.filter((tool) => tool.function.name === named);
  if (isRequired && tools.length === 0) {
    const found = named ?? 'required';
    fail('INVALID_ARGUMENT', {
      name: 'toolChoice',
      found,
      expected: 'one of the tools, or auto where there is none',
    });
  }
  if (isRequired && options.constraint) {
    fail('INVALID_ARGUMENT', { name: 'toolChoice and constraint', found: 'both', expected: 'one of them' });
  }
  if (isRequired && !of.dialect.calls && !of.dialect.rule) {
    const expected = `auto: the dialect ${of.dialect.name} has no calls`;
    fail('INVALID_ARGUMENT', { name: 'toolChoice', found: named ?? 'required', expected });
  }
  const text = formOf(options);
  if (!text && !isRequired && !tools.some((tool) => tool.function['strict'] === true)) return undefined;
  const { template, prompt, mayThink } = of;
  const isManifold = isParallel && !named;
  return { kind: 'answer', template, prompt, tools, isRequired, mayThink, isParallel: isManifold, text };
}

import { fail } from '../../base/errors.ts';
import { isDeeper } from '../../base/json-depth.ts';
import {
  Fuel,
  type FuelOptions,
  type Grammar,
  type Rule,
  gbnfGrammar,
  jsonGrammar,
  schemaGrammar,
  wholeRegex,
} from '../../grammar/index.ts';
import type { ChatTool } from '../chat-message.ts';
import { answerGrammar, dialectOf } from '../dialects/index.ts';

/** The form that constrains a text: JSON data, which can be sent to a worker and compared as text. */
export type TextForm =
  /** Any JSON object. */
  | { readonly kind: 'json' }
  /** JSON that satisfies a JSON schema, draft 2020-12. */
  | { readonly kind: 'schema'; readonly schema: unknown }
  /** Text that an ECMA-262 pattern matches as a whole. */
  | { readonly kind: 'regex'; readonly pattern: string }
  /** Text that matches a grammar in llama.cpp's GBNF. */
  | { readonly kind: 'gbnf'; readonly grammar: string }
  /** One of these texts. */
  | { readonly kind: 'choices'; readonly choices: readonly string[] }
  | AnswerTextForm;

/** An answer to a conversation: reasoning in the model's syntax, then a text, or calls. */
export interface AnswerTextForm {
  readonly kind: 'answer';
  /** The chat template's source, from which the syntax of calls and reasoning is detected. */
  readonly template: string;
  /** The prompt's end: it may have opened the reasoning. */
  readonly prompt: string;
  readonly tools: readonly ChatTool[];
  /** Whether it must have a call. */
  readonly isRequired: boolean;
  /** Whether it may begin with reasoning. If the prompt has opened reasoning, that is completed in any case. */
  readonly mayThink: boolean;
  /** Whether several calls are allowed. */
  readonly isParallel: boolean;
  /** The form of its text if it is not a call. Default: any text. */
  readonly text?: Exclude<TextForm, AnswerTextForm> | undefined;
}

/** Maximum length of a form as text, in UTF-16 units, and its maximum nesting: both cost time and stack. */
const LONGEST = 512 * 1024;
const DEEPEST = 128;

/** The form as text, by which equal ones are recognized. Throws `GRAMMAR_INVALID` if it is too long or too deep. */
export function writtenForm(form: TextForm): string {
  let text: string;
  try {
    text = JSON.stringify(form);
  } catch (error) {
    return fail('GRAMMAR_INVALID', { reason: 'it cannot be written as JSON' }, error);
  }
  if (text.length > LONGEST) {
    fail('GRAMMAR_INVALID', { reason: `it has ${text.length} characters, at most ${LONGEST} are taken` });
  }
  if (isDeeper(text, DEEPEST))
    fail('GRAMMAR_INVALID', { reason: `it is nested deeper than ${DEEPEST} levels` });
  return text;
}

/** Settles when earlier forms have been serialized. */
let writing: Promise<unknown> = Promise.resolve();

/**
 * Serializes a form, one per event-loop turn: a request may have a hundred texts with a form that takes milliseconds.
 * Rejects as `writtenForm`.
 */
export function writeForm(form: TextForm): Promise<string> {
  const before = writing;
  const write = async () => {
    await before;
    await new Promise((resolve) => setTimeout(resolve, 0));
    return writtenForm(form);
  };
  const written = write();
  writing = written.catch(() => undefined);
  return written;
}

/** The grammar of a form. Throws `GRAMMAR_INVALID`, `SCHEMA_UNSUPPORTED`, `GRAMMAR_TOO_COSTLY` or `ABORTED`. */
export function formGrammar(form: TextForm, limits: FuelOptions): Grammar {
  const fuel = new Fuel('the grammar', limits);
  switch (form.kind) {
    case 'json':
      return jsonGrammar('object');
    case 'schema':
      return schemaGrammar(form.schema, {}, fuel);
    case 'regex':
      return rooted({
        kind: 'regex',
        regex: wholeRegex(form.pattern, undefined, (units) => fuel.spend(units)),
      });
    case 'gbnf':
      return gbnfGrammar(form.grammar);
    case 'choices':
      return rooted({
        kind: 'choice',
        parts: form.choices.map((text) => ({ kind: 'regex', regex: { kind: 'text', text } })),
      });
    case 'answer': {
      const { template, text, ...of } = form;
      return answerGrammar(dialectOf(template), { ...of, text: text && formGrammar(text, limits) });
    }
  }
}

function rooted(rule: Rule): Grammar {
  return { rules: new Map([['root', rule]]), root: 'root' };
}

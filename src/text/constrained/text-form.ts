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

/** What a text is held to: JSON data, which crosses to a worker and can be compared as it is written. */
export type TextForm =
  /** Any JSON object. */
  | { readonly kind: 'json' }
  /** JSON that satisfies a JSON schema, draft 2020-12. */
  | { readonly kind: 'schema'; readonly schema: unknown }
  /** Text that is, as a whole, what an ECMA-262 pattern matches. */
  | { readonly kind: 'regex'; readonly pattern: string }
  /** Text of a grammar in llama.cpp's GBNF. */
  | { readonly kind: 'gbnf'; readonly grammar: string }
  /** One of these texts. */
  | { readonly kind: 'choices'; readonly choices: readonly string[] }
  | AnswerTextForm;

/** An answer to a conversation: reasoning as the model writes it, then a text, or calls. */
export interface AnswerTextForm {
  readonly kind: 'answer';
  /** The chat template's source, which tells how calls and reasoning are written. */
  readonly template: string;
  /** The prompt's end: it may have opened the reasoning. */
  readonly prompt: string;
  readonly tools: readonly ChatTool[];
  /** It has a call; otherwise it may have some. */
  readonly isRequired: boolean;
  /** It may begin with reasoning. Where the prompt has begun it, that is finished whatever this says. */
  readonly mayThink: boolean;
  /** One call may follow another. */
  readonly isParallel: boolean;
  /** What its text is where it is no call. Default: any text. */
  readonly text?: Exclude<TextForm, AnswerTextForm> | undefined;
}

/** Longest description in UTF-16 units, and how deeply it may be nested: both cost time and stack. */
const LONGEST = 512 * 1024;
const DEEPEST = 128;

/** The description as it is written, by which equal ones are known. Throws `GRAMMAR_INVALID` for what is too long or too deep. */
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

/** Settles when the forms before have been written. */
let writing: Promise<unknown> = Promise.resolve();

/** Writes a form, one a turn of the thread: a request may ask for a hundred texts of one that takes milliseconds. Rejects as `writtenForm`. */
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

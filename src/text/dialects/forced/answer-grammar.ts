import type { Grammar, Regex, Rule } from '../../../grammar/index.ts';
import type { ChatTool } from '../../chat-message.ts';
import { type AnswerRules, type Dialect, openingOf, type TextRule } from '../dialect.ts';
import { Parameters } from '../parameters.ts';
import { ANY_TEXT, choice, marker, optional, regex, sequence, text, without } from './rules.ts';

/** The constraints on an answer. */
export interface AnswerGrammarOptions {
  /** The tools that may be called. */
  readonly tools: readonly ChatTool[];
  /** Whether a call is required; otherwise calls are optional. */
  readonly isRequired: boolean;
  /** Whether it may begin with reasoning, if the dialect's models reason. Default: true. */
  readonly mayThink?: boolean;
  /** Whether several calls are allowed. */
  readonly isParallel: boolean;
  /** The grammar of its text when it is not a call. Default: any text. */
  readonly text?: Grammar | undefined;
  /** The prompt, or its end: it may have opened the reasoning. */
  readonly prompt?: string;
}

/** The maximum number of markers around an answer. */
const MAX_MARKERS = 3;

/**
 * The grammar of an answer in a dialect: unconstrained reasoning, then text, or calls whose arguments match the tools'
 * schemas. Throws `SCHEMA_UNSUPPORTED`, and as `schemaGrammar`.
 */
export function answerGrammar(dialect: Dialect, of: AnswerGrammarOptions): Grammar {
  const tools = new Map(of.tools.map((tool) => [tool.function.name, Parameters.of(tool)]));
  const held = of.text;
  const form: TextRule = held
    ? () => ({ kind: 'grammar', grammar: held })
    : (markers) => regex(without(markers));
  const { isRequired, isParallel, mayThink = true } = of;
  const opening = openingOf(dialect, of.prompt ?? '');
  const rules: AnswerRules = { tools, isRequired, isParallel, mayThink, opening };
  const answer =
    dialect.rule?.(rules, form) ?? answerRule(dialect, { rules, form, isHeld: held !== undefined });
  return { rules: new Map([['answer', answer]]), root: 'answer' };
}

function answerRule(dialect: Dialect, of: { rules: AnswerRules; form: TextRule; isHeld: boolean }): Rule {
  const { rules, form, isHeld } = of;
  const { calls, ignored = [] } = dialect;
  const around: Rule = {
    kind: 'repeat',
    part: choice(...ignored.map(marker)),
    min: 0,
    max: ignored.length === 0 ? 0 : MAX_MARKERS,
  };
  const reasoning = reasoningRule(dialect, rules);
  const before = ignored.length === 0 ? reasoning : sequence(reasoning, around);
  const finish = (body: Rule) =>
    ignored.length === 0 ? sequence(before, body) : sequence(before, body, around);
  const starts = rules.tools.size > 0 && calls ? calls.starts : [];
  const said = form([...starts, ...ignored, dialect.reasoning.open, dialect.reasoning.close]);
  if (!calls || rules.tools.size === 0) return finish(said);
  const called = calls.rule(rules);
  if (rules.isRequired) return finish(called);
  if (isHeld) return finish(choice(said, called));
  const free = calls.beginsAnswer ? regex({ kind: 'both', parts: [languageOf(said), NO_OBJECT] }) : said;
  return finish(sequence(free, optional(called)));
}

/** Text that does not begin with an object or a list. */
const NO_OBJECT: Regex = {
  kind: 'not',
  part: {
    kind: 'sequence',
    parts: [
      { kind: 'repeat', part: spaceSet(), min: 0, max: Number.POSITIVE_INFINITY },
      {
        kind: 'choice',
        parts: [
          { kind: 'text', text: '{' },
          { kind: 'text', text: '[' },
        ],
      },
      ANY_TEXT,
    ],
  },
};

function spaceSet(): Regex {
  return {
    kind: 'set',
    ranges: [
      [9, 13],
      [32, 32],
    ],
  };
}

function languageOf(rule: Rule): Regex {
  return rule.kind === 'regex' ? rule.regex : ANY_TEXT;
}

/** The reasoning, or its remainder if the prompt has opened it, and the newlines after it. */
function reasoningRule(
  { reasoning, thinks, calls }: Dialect,
  { tools, opening, mayThink }: AnswerRules,
): Rule {
  const { open, close } = reasoning;
  if (opening === open + close) return SPACES;
  const ends = reasoning.isEndedByCalls && tools.size > 0 ? (calls?.starts ?? []) : [];
  const thought = sequence(regex(without([close, ...ends])), marker(close), SPACES);
  if (opening === open) return thought;
  return thinks && mayThink ? optional(sequence(marker(open), thought)) : sequence();
}

const SPACES: Rule = {
  kind: 'repeat',
  part: text('\n'),
  min: 0,
  max: MAX_MARKERS,
};

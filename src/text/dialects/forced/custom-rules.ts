import type { Rule } from '../../../grammar/index.ts';
import type { CallSyntax } from '../call-context.ts';
import type { AnswerRules, TextRule } from '../dialect.ts';
import { argumentsRule } from './fields.ts';
import { choice, marker, optional, regex, sequence, repeatedCalls, text, without } from './rules.ts';

const MESSAGE = '<|message|>';

/** gpt-oss: analysis, preamble, and the final message or a call. A call ends the turn. */
export function harmonyRule({ tools, isRequired, mayThink }: AnswerRules, form: TextRule): Rule {
  const next = marker('<|end|><|start|>assistant');
  const marks = ['<|end|>', '<|call|>', '<|return|>', '<|start|>', '<|channel|>', MESSAGE];
  const analysis = message('<|channel|>analysis<|message|>', regex(without(marks)));
  const preamble = message('<|channel|>commentary<|message|>', regex(without(marks)));
  const final = message('<|channel|>final<|message|>', form(marks));
  const calls = [...tools].map(([name, parameters]) =>
    sequence(
      marker('<|channel|>commentary'),
      text(` to=functions.${name} `),
      marker('<|constrain|>json<|message|>'),
      argumentsRule(parameters),
    ),
  );
  const ends = isRequired ? calls : [final, ...calls];
  return sequence(some(sequence(choice(...(mayThink ? [analysis] : []), preamble), next)), choice(...ends));
}

/** Muse Glimmer: messages to itself, to the user and to tools. */
export function museRule(
  { tools, isRequired, mayThink }: AnswerRules,
  form: TextRule,
  calls: CallSyntax,
): Rule {
  const next = marker('<|eom|><|start|>assistant');
  const marks = ['<|eom|>', '<|eot|>', '<|start|>', MESSAGE];
  const thought = message(` to=self${MESSAGE}`, regex(without(marks)));
  const said = message(` to=user${MESSAGE}`, form(marks));
  const called = [...tools].map(([name, parameters]) =>
    message(` to=${name}${MESSAGE}`, calls.rule({ tools: new Map([[name, parameters]]), isParallel: false })),
  );
  const thoughts = mayThink ? some(sequence(thought, next)) : sequence();
  if (isRequired) return sequence(thoughts, choice(...called));
  const end = choice(said, ...called, sequence(said, next, choice(said, ...called)));
  return sequence(thoughts, end);
}

/** functionary v3.2: after `>>>`, which ends the prompt, `all` with a text or a tool's name with its arguments. */
export function functionaryRule({ tools, isRequired, isParallel }: AnswerRules, form: TextRule): Rule {
  const marks = ['all', ...tools.keys()].map((name) => `>>>${name}\n`);
  const calls = [...tools].map(([name, parameters]) =>
    sequence(text(`${name}\n`), argumentsRule(parameters)),
  );
  const called = repeatedCalls(choice(...calls), isParallel, text('>>>'));
  const said = sequence(text('all\n'), form(marks));
  if (isRequired) return called;
  return calls.length === 0 ? said : choice(said, sequence(optional(sequence(said, text('>>>'))), called));
}

/** Kimi K3: reasoning, a response and calls, each between tags. The prompt has opened the first. */
export function kimi3Rule(rules: AnswerRules, form: TextRule, calls: CallSyntax): Rule {
  const marks = ['<|open|>', '<|close|>', '<|sep|>'];
  const thought = sequence(regex(without(marks)), marker('<|close|>think<|sep|>'));
  const begin = marker('<|open|>response<|sep|>');
  const opened = rules.opening.endsWith('<|open|>think<|sep|>')
    ? sequence(thought, begin)
    : rules.opening.endsWith('<|open|>response<|sep|>')
      ? sequence()
      : sequence(
          rules.mayThink ? optional(sequence(marker('<|open|>think<|sep|>'), thought)) : sequence(),
          begin,
        );
  const response = (said: Rule) => sequence(said, marker('<|close|>response<|sep|>'));
  const called = sequence(marker('<|open|>tools<|sep|>'), calls.rule(rules), marker('<|close|>tools<|sep|>'));
  const end = optional(marker('<|close|>message<|sep|>'));
  if (rules.tools.size === 0) return sequence(opened, response(form(marks)), end);
  if (rules.isRequired) return sequence(opened, response(regex(without(marks))), called, end);
  return sequence(opened, response(form(marks)), optional(called), end);
}

/** The messages before the one that ends the turn, limited in number so that the turn ends. */
function some(part: Rule): Rule {
  return { kind: 'repeat', part, min: 0, max: 3 };
}

function message(head: string, body: Rule): Rule {
  return sequence(marker(head), body);
}

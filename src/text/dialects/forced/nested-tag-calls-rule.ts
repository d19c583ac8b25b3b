import type { Rule } from '../../../grammar/index.ts';
import type { CallRules } from '../call-context.ts';
import { fieldsOf, fieldsRule } from './fields.ts';
import { bareRule } from './raw-values.ts';
import { choice, marker, sequence, several, text } from './rules.ts';

/** Calls whose every tag has a token before it; objects and lists are written as JSON. Throws `SCHEMA_UNSUPPORTED`. */
export function nestedTagCallsRule(token: string, { tools, isParallel }: CallRules): Rule {
  const calls = [...tools].map(([name, parameters]) => {
    const fields = fieldsOf(parameters).map((field) => {
      const close = `${token}</${field.name}>`;
      const value = bareRule(parameters, field, close);
      const open = sequence(marker(`${token}<`), text(`${field.name}>`));
      return {
        rule: sequence(open, value, marker(token), text(close.slice(token.length))),
        isRequired: field.isRequired,
      };
    });
    const head = sequence(marker(`${token}<invoke name="`), text(`${name}">`));
    return sequence(head, fieldsRule(fields, sequence()), marker(token), text('</invoke>'));
  });
  const open = sequence(marker(token), text('<tool_call>\n'));
  const all = several(choice(...calls), isParallel, text('\n'));
  return sequence(open, all, text('\n'), marker(token), text('</tool_call>'));
}

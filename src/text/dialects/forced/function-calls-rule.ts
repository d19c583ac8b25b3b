import type { Rule } from '../../../grammar/index.ts';
import type { CallRules } from '../call-context.ts';
import type { FunctionCalls } from '../call-forms.ts';
import type { Parameters } from '../parameters.ts';
import { type Field, fieldsOf, fieldsRule, jsonRule } from './fields.ts';
import { stringRule } from './raw-values.ts';
import { choice, LINE, marker, sequence, repeatedCalls, text } from './rules.ts';

/**
 * Calls of the form `name(key=value)`; values are written as JSON, which both kinds of literals accept. Throws
 * `SCHEMA_UNSUPPORTED`.
 */
export function functionCallsRule(form: FunctionCalls, { tools, isParallel }: CallRules): Rule {
  const { bracket, prefix = '', close } = form;
  const [open = ''] = form.open;
  const calls = [...tools].map(([name, parameters]) => {
    const fields = fieldsOf(parameters).map((field) => ({
      rule: sequence(text(field.name + form.separator), valueRule(form, parameters, field)),
      isRequired: field.isRequired,
    }));
    const list = fieldsRule(fields, text(bracket === '(' ? ', ' : ','));
    return sequence(text(`${prefix}${name}${bracket}`), list, text(bracket === '(' ? ')' : '}'));
  });
  const call = choice(...calls);
  const enclosed = (part: Rule) => sequence(marker(open), part, marker(close));
  if (!form.isList) return repeatedCalls(enclosed(call), isParallel, LINE);
  return enclosed(sequence(text('['), repeatedCalls(call, isParallel, text(', ')), text(']')));
}

function valueRule({ quote }: FunctionCalls, parameters: Parameters, field: Field): Rule {
  const { mayBeString, types } = parameters.kindOfSchema(field.schema);
  if (quote === undefined || !mayBeString || types?.size !== 0) return jsonRule(parameters, field.schema);
  return sequence(marker(quote), stringRule(parameters, field, quote), marker(quote));
}

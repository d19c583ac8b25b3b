import type { Rule } from '../../../grammar/index.ts';
import type { CallRules } from '../call-context.ts';
import type { KeyEnd, ParameterCalls } from '../call-forms.ts';
import { isSchema, type Parameters } from '../parameters.ts';
import { argumentsRule, type Field, fieldsOf, fieldsRule, jsonRule } from './fields.ts';
import { bareRule, isUnconstrained, stringRule } from './raw-values.ts';
import { choice, LINE, marker, number, sequence, repeatedCalls, text } from './rules.ts';

/** Calls whose parameters are written separately between markers. Throws `SCHEMA_UNSUPPORTED`. */
export function parameterCallsRule(form: ParameterCalls, { tools, isParallel }: CallRules): Rule {
  const { section } = form;
  const call = choice(...[...tools].map(([name, parameters]) => callRule(form, name, parameters)));
  if (!section) return repeatedCalls(call, isParallel, LINE);
  const enclosed = (part: Rule) => sequence(marker(section.open), LINE, part, LINE, marker(section.close));
  if (section.isOfOne) return repeatedCalls(enclosed(call), isParallel, LINE);
  return enclosed(repeatedCalls(call, isParallel, LINE));
}

function callRule(form: ParameterCalls, name: string, parameters: Parameters): Rule {
  const { call, object } = form;
  const [end = ''] = call.nameEnds;
  const behind = call.number
    ? sequence(marker(end + call.number.open), number(), marker(call.number.close))
    : end === '\n'
      ? LINE
      : marker(end);
  const head = sequence(marker(call.open), text(name), behind);
  const tail = marker(call.close);
  if (object && !canSeparate(parameters)) {
    return sequence(head, marker(object.open), argumentsRule(parameters), marker(object.close), tail);
  }
  const fields = fieldsOf(parameters).map((field) => ({
    rule: fieldRule(form, parameters, field),
    isRequired: field.isRequired,
  }));
  return sequence(head, LINE, fieldsRule(fields, LINE), LINE, tail);
}

function canSeparate(parameters: Parameters): boolean {
  try {
    fieldsOf(parameters);
    return true;
  } catch {
    return false;
  }
}

function fieldRule({ parameter }: ParameterCalls, parameters: Parameters, field: Field): Rule {
  const { open, keyEnds, valueOpen, close, isOnLines } = parameter;
  const line = isOnLines ? text('\n') : sequence();
  const before = valueOpen === undefined ? sequence() : sequence(LINE, marker(valueOpen));
  const values = keyEnds.flatMap((end) => {
    const value = valueRule(parameters, field, { end, close, isOnly: keyEnds.length === 1 });
    return value ? [sequence(marker(end.mark), before, line, value, line)] : [];
  });
  return sequence(marker(open), text(field.name), choice(...values), marker(close));
}

/** The value after the end of a key; undefined when the schema has no value of the kind that the end marks. */
function valueRule(
  parameters: Parameters,
  field: Field,
  of: { end: KeyEnd; close: string; isOnly: boolean },
): Rule | undefined {
  const { end, close, isOnly } = of;
  const { mayBeString, types } = parameters.kindOfSchema(field.schema);
  if (end.isString === undefined) return isOnly ? bareRule(parameters, field, close) : undefined;
  const isStringAlone = mayBeString && types?.size === 0;
  if (end.isString) {
    if (isStringAlone) return stringRule(parameters, field, close);
    const resolved = parameters.resolve(field.schema);
    const isFree = mayBeString && isUnconstrained(resolved);
    return isFree
      ? stringRule(parameters, { ...field, schema: isSchema(resolved) ? {} : true }, close)
      : undefined;
  }
  if (isStringAlone) return undefined;
  if (end.type === undefined) return jsonRule(parameters, field.schema);
  const isType =
    types === undefined || types.has(end.type) || (end.type === 'number' && types.has('integer'));
  return isType ? jsonRule(parameters, field.schema, [end.type]) : undefined;
}

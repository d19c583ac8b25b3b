import type { Rule } from '../../../grammar/index.ts';
import type { CallRules } from '../call-context.ts';
import type { ObjectCalls, ObjectsWritten } from '../call-forms.ts';
import type { Parameters } from '../parameters.ts';
import { argumentsRule } from './fields.ts';
import { choice, LINE, letters, marker, number, sequence, repeatedCalls, text } from './rules.ts';

/** Calls that are JSON objects. Throws as `schemaGrammar`. */
export function objectCallsRule(form: ObjectCalls, { tools, isParallel }: CallRules): Rule {
  const { written = {}, isKeyed } = form;
  // A marker that includes the beginning of the object is not written.
  const open = form.open.find((one) => !one.includes('{')) ?? '';
  const objects = [...tools].map(([name, parameters]) =>
    isKeyed
      ? sequence(text(`{${JSON.stringify(name)}: `), argumentsRule(parameters), text('}'))
      : objectRule(name, parameters, written),
  );
  const object = choice(...objects);
  const padding = written.padding === undefined ? sequence() : text(written.padding);
  const enclosed = (part: Rule) =>
    sequence(
      marker(open),
      padding,
      part,
      form.close === undefined ? sequence() : sequence(padding, marker(form.close)),
    );
  if (written.isList)
    return enclosed(sequence(text('['), repeatedCalls(object, isParallel, text(', ')), text(']')));
  return repeatedCalls(enclosed(object), isParallel, open === '' ? text('; ') : LINE);
}

function objectRule(name: string, parameters: Parameters, { keys, id }: ObjectsWritten): Rule {
  const { name: nameKey, arguments: argumentsKey } = keys ?? { name: 'name', arguments: 'arguments' };
  const call = sequence(
    text(`${JSON.stringify(nameKey)}: ${JSON.stringify(name)}, ${JSON.stringify(argumentsKey)}: `),
    argumentsRule(parameters),
  );
  if (!id) return sequence(text('{'), call, text('}'));
  const value = id.length === 'number' ? number() : letters(id.length);
  const property = sequence(text(`${JSON.stringify(id.key)}: "`), value, text('"'));
  return id.isFirst
    ? sequence(text('{'), property, text(', '), call, text('}'))
    : sequence(text('{'), call, text(', '), property, text('}'));
}

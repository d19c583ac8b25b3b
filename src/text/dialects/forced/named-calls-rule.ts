import type { Rule } from '../../../grammar/index.ts';
import type { CallRules } from '../call-context.ts';
import type { NamedCalls } from '../call-forms.ts';
import { argumentsRule } from './fields.ts';
import { choice, LINE, letters, marker, number, sequence, several, text } from './rules.ts';

/** Calls that are a name and a JSON object. Throws as `schemaGrammar`. */
export function namedCallsRule(form: NamedCalls, { tools, isParallel }: CallRules): Rule {
  const { section, open, type = '', between, id, written = {}, close = '' } = form;
  const before = marker(written.before ?? between[0] ?? '');
  const { idLength } = written;
  const calls = [...tools].map(([name, parameters]) => {
    const named = form.isNumbered ? sequence(text(`functions.${name}:`), number()) : text(name);
    const marked =
      id && idLength !== undefined ? { mark: marker(id.mark), id: letters(idLength) } : undefined;
    const head = !marked
      ? named
      : id?.isFirst
        ? sequence(marked.id, marked.mark, named)
        : sequence(named, marked.mark, marked.id);
    const behind = marker((written.behind ?? '') + close);
    return sequence(marker(open + type), head, before, argumentsRule(parameters), behind);
  });
  const all = several(choice(...calls), isParallel, LINE);
  return section ? sequence(marker(section.open), all, marker(section.close)) : all;
}

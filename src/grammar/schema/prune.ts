import type { Grammar, Rule } from '../grammar.ts';
import type { Regex } from '../regex/regex.ts';
import type { RegularLanguages } from '../regex/regular-languages.ts';
import { inOrder, NO_RULE, NOTHING_MORE, oneOf } from './rules.ts';

/**
 * A grammar without what leads to no text: alternatives that are empty, or that never end because they hold themselves. Undefined
 * where nothing is left.
 */
export function pruned({ rules, root }: Grammar, languages: RegularLanguages): Grammar | undefined {
  const users = new Map<string, Set<string>>();
  for (const [name, rule] of rules) {
    for (const used of namesIn(rule)) {
      const own = users.get(used);
      if (own) own.add(name);
      else users.set(used, new Set([name]));
    }
  }
  const trim = new Trim(languages);
  const open = [...rules.keys()];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    const rule = rules.get(name);
    if (trim.productive.has(name) || !rule || trim.apply(rule) === NO_RULE) continue;
    trim.productive.add(name);
    open.push(...(users.get(name) ?? []));
  }
  if (!trim.productive.has(root)) return undefined;
  const left = new Map<string, Rule>();
  const wanted = [root];
  for (let name = wanted.pop(); name !== undefined; name = wanted.pop()) {
    const rule = rules.get(name);
    if (left.has(name) || !rule) continue;
    const made = trim.apply(rule);
    left.set(name, made);
    wanted.push(...namesIn(made));
  }
  return { root, rules: left };
}

function* namesIn(rule: Rule): Generator<string> {
  if (rule.kind === 'reference') yield rule.name;
  else if (rule.kind === 'sequence' || rule.kind === 'choice')
    for (const part of rule.parts) yield* namesIn(part);
  else if (rule.kind === 'repeat' || rule.kind === 'scope') yield* namesIn(rule.part);
}

/** Leaves out what is known to lead to no text while only some names are known to lead to one. */
class Trim {
  readonly productive = new Set<string>();
  readonly #languages: RegularLanguages;
  readonly #empty = new Map<Regex, boolean>();

  constructor(languages: RegularLanguages) {
    this.#languages = languages;
  }

  apply(rule: Rule): Rule {
    switch (rule.kind) {
      case 'regex':
      case 'distinct':
        return this.#isEmpty(rule.regex) ? NO_RULE : rule;
      case 'reference':
        return this.productive.has(rule.name) ? rule : NO_RULE;
      case 'sequence': {
        const parts = rule.parts.map((part) => this.apply(part));
        return parts.every((part, at) => part === rule.parts[at]) ? rule : inOrder(...parts);
      }
      case 'choice': {
        const parts = rule.parts.map((part) => this.apply(part));
        return parts.length > 0 && parts.every((part, at) => part === rule.parts[at])
          ? rule
          : oneOf(...parts);
      }
      case 'repeat': {
        const part = this.apply(rule.part);
        if (part === NO_RULE) return rule.min === 0 ? NOTHING_MORE : NO_RULE;
        return part === rule.part ? rule : { ...rule, part };
      }
      case 'scope': {
        const part = this.apply(rule.part);
        return part === rule.part ? rule : part === NO_RULE ? NO_RULE : { kind: 'scope', part };
      }
      case 'token':
      case 'token-id':
      case 'any-token':
      case 'grammar':
        return rule;
    }
  }

  #isEmpty(regex: Regex): boolean {
    let isEmpty = this.#empty.get(regex);
    if (isEmpty === undefined) {
      isEmpty = mayBeEmpty(regex) && this.#languages.isEmpty(regex);
      this.#empty.set(regex, isEmpty);
    }
    return isEmpty;
  }
}

/** False where a look at the operators tells that there is a text. */
function mayBeEmpty(regex: Regex): boolean {
  switch (regex.kind) {
    case 'text':
    case 'multiple':
      return false;
    case 'set':
      return regex.ranges.length === 0;
    case 'sequence':
      return regex.parts.some(mayBeEmpty);
    case 'choice':
      return regex.parts.every(mayBeEmpty);
    case 'repeat':
      return regex.min > 0 && mayBeEmpty(regex.part);
    case 'never':
    case 'both':
    case 'not':
      return true;
  }
}

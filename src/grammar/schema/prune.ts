import type { Grammar, Rule } from '../grammar.ts';
import type { Regex } from '../regex/regex.ts';
import { hasMembers } from '../parser/member-table.ts';
import type { RegularLanguages } from '../regex/regular-languages.ts';
import { mayBeEmpty } from './regexes.ts';
import { sequenceRule, NO_TEXT_RULE, EMPTY_TEXT_RULE, choiceRule } from './rules.ts';

type MembersRule = Extract<Rule, { readonly kind: 'members' }>;

/**
 * A grammar without what matches no text: empty alternatives, and those that never end because they contain themselves.
 * Undefined when nothing remains. `someText` holds terminals, or parts of them, that are known to match a text.
 */
export function pruned(
  grammar: Grammar,
  languages: RegularLanguages,
  someText: ReadonlySet<Regex>,
): Grammar | undefined {
  const { rules, root } = grammar;
  const trim = new Trim(languages, someText);
  // Most rules come before the ones they reference, so one pass from the end settles most of them.
  const open = [...rules.keys()].filter((name) => rules.get(name) !== NO_TEXT_RULE);
  const left = open.reverse().filter((name) => !trim.settle(name, rules));
  settleAll(left, rules, trim);
  if (!trim.productive.has(root)) return undefined;
  if (trim.productive.size === rules.size && !trim.hasEmpty) return grammar;
  const made = new Map<string, Rule>();
  const wanted = [root];
  for (let name = wanted.pop(); name !== undefined; name = wanted.pop()) {
    const rule = rules.get(name);
    if (made.has(name) || !rule) continue;
    const own = trim.apply(rule);
    made.set(name, own);
    forEachName(own, (used) => wanted.push(used));
  }
  return { root, rules: made };
}

/** Settles rules once the rules they need are settled. */
function settleAll(names: readonly string[], rules: Grammar['rules'], trim: Trim): void {
  const users = new Map<string, Set<string>>();
  for (const name of names) {
    forEachName(rules.get(name) ?? NO_TEXT_RULE, (used) => {
      const own = users.get(used);
      if (own) own.add(name);
      else users.set(used, new Set([name]));
    });
  }
  const open = [...names];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (!trim.productive.has(name) && trim.settle(name, rules)) open.push(...(users.get(name) ?? []));
  }
}

function forEachName(rule: Rule, visit: (name: string) => void): void {
  if (rule.kind === 'reference') visit(rule.name);
  else if (rule.kind === 'sequence' || rule.kind === 'choice') {
    for (const part of rule.parts) forEachName(part, visit);
  } else if (rule.kind === 'repeat' || rule.kind === 'scope') forEachName(rule.part, visit);
  else if (rule.kind === 'members') {
    for (const { value } of rule.members) forEachName(value, visit);
    if (rule.other) forEachName(rule.other, visit);
  }
}

/** Removes what matches no text, given which rules are known to match one. */
class Trim {
  readonly productive = new Set<string>();
  /** True once a part was found that matches no text whatever the rules do. */
  hasEmpty = false;
  readonly #languages: RegularLanguages;
  readonly #someText: ReadonlySet<Regex>;
  readonly #empty = new Map<Regex, boolean>();

  constructor(languages: RegularLanguages, someText: ReadonlySet<Regex>) {
    this.#languages = languages;
    this.#someText = someText;
  }

  /** True, and remembered, when the rules known so far make a rule match a text. */
  settle(name: string, rules: Grammar['rules']): boolean {
    if (!this.#isProductive(rules.get(name) ?? NO_TEXT_RULE)) return false;
    this.productive.add(name);
    return true;
  }

  #isProductive(rule: Rule): boolean {
    switch (rule.kind) {
      case 'regex':
      case 'distinct':
        return !this.#isEmpty(rule.regex);
      case 'reference':
        return this.productive.has(rule.name);
      case 'sequence': {
        let isProductive = true;
        for (const part of rule.parts) isProductive = this.#isProductive(part) && isProductive;
        return isProductive;
      }
      case 'choice': {
        if (rule.parts.length === 0) this.hasEmpty = true;
        let isProductive = false;
        for (const part of rule.parts) isProductive = this.#isProductive(part) || isProductive;
        return isProductive;
      }
      case 'repeat':
        return this.#isProductive(rule.part) || rule.min === 0;
      case 'scope':
        return this.#isProductive(rule.part);
      case 'members':
        return this.#membersLeft(rule) !== undefined;
      case 'token':
      case 'token-id':
      case 'any-token':
      case 'grammar':
      case 'later':
        return true;
    }
  }

  /** The rule with only the parts that match a text. */
  apply(rule: Rule): Rule {
    switch (rule.kind) {
      case 'regex':
      case 'distinct':
        return this.#isEmpty(rule.regex) ? NO_TEXT_RULE : rule;
      case 'reference':
        return this.productive.has(rule.name) ? rule : NO_TEXT_RULE;
      case 'sequence': {
        const parts = rule.parts.map((part) => this.apply(part));
        return parts.every((part, at) => part === rule.parts[at]) ? rule : sequenceRule(...parts);
      }
      case 'choice': {
        const parts = rule.parts.map((part) => this.apply(part));
        return parts.every((part, at) => part === rule.parts[at] && part !== NO_TEXT_RULE)
          ? rule
          : choiceRule(...parts);
      }
      case 'repeat': {
        const part = this.apply(rule.part);
        if (part === NO_TEXT_RULE) return rule.min === 0 ? EMPTY_TEXT_RULE : NO_TEXT_RULE;
        return part === rule.part ? rule : { ...rule, part };
      }
      case 'scope': {
        const part = this.apply(rule.part);
        return part === rule.part ? rule : part === NO_TEXT_RULE ? NO_TEXT_RULE : { kind: 'scope', part };
      }
      case 'members': {
        const left = this.#membersLeft(rule);
        if (!left) return NO_TEXT_RULE;
        const members = left.members.map((member) => ({ ...member, value: this.apply(member.value) }));
        return { ...left, members, other: left.other && this.apply(left.other) };
      }
      case 'token':
      case 'token-id':
      case 'any-token':
      case 'grammar':
      case 'later':
        return rule;
    }
  }

  /** The members whose values match a text; undefined when there are too few, or a required one is missing. */
  #membersLeft(rule: MembersRule): MembersRule | undefined {
    let [required, isMissing] = [0, false];
    let isWhole = true;
    for (const { value, isRequired } of rule.members) {
      if (this.#isProductive(value)) required += isRequired ? 1 : 0;
      else {
        isMissing ||= isRequired;
        isWhole = false;
      }
    }
    const members = isWhole ? rule.members : rule.members.filter(({ value }) => this.#isProductive(value));
    const other = rule.other && this.#isProductive(rule.other) ? rule.other : undefined;
    const { min, max } = rule;
    const counts = { size: members.length, required, hasOther: other !== undefined, min, max };
    const isLeft = !isMissing && hasMembers(counts);
    if (!isLeft) this.hasEmpty = true;
    return isLeft ? { ...rule, members, other } : undefined;
  }

  #isEmpty(regex: Regex): boolean {
    let isEmpty = this.#empty.get(regex);
    if (isEmpty === undefined) {
      isEmpty = mayBeEmpty(regex, this.#someText) && this.#languages.isEmpty(regex);
      this.#empty.set(regex, isEmpty);
      if (isEmpty) this.hasEmpty = true;
    }
    return isEmpty;
  }
}

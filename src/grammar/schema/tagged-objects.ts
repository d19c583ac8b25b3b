import type { Rule } from '../grammar.ts';
import { MAX_WEIGHT } from './plain.ts';
import { text } from './regexes.ts';
import { sequenceRule, choiceRule, terminal } from './rules.ts';
import { isFalse, type Objects, type Term } from './shapes.ts';
import type { Spacing } from './spacing.ts';
import type { Terms } from './terms.ts';

/** Not worthwhile for fewer. */
const FEWEST = 4;

/** Sets of objects by the value of their first member. */
export interface TaggedObjects {
  /** That member's name; undefined when there is none. */
  readonly tag: string | undefined;
  readonly tagged: ReadonlyMap<string, readonly Objects[]>;
  readonly others: readonly Objects[];
}

/**
 * Finds sets of objects whose first member is the same and has listed values: of a thousand alternatives that a `const`
 * distinguishes, only the one that is read must be written. Takes only objects that are described by their members
 * alone.
 */
export function taggedObjects(
  sets: readonly Objects[],
  terms: Terms,
  isPlain: (term: Term) => boolean,
): TaggedObjects {
  const tagged = new Map<string, Objects[]>();
  const others: Objects[] = [];
  const first = sets.length < FEWEST ? undefined : sets.find((set) => firstName(set) !== undefined);
  const tag = first && firstName(first);
  for (const set of sets) {
    const isTagged = tag !== undefined && firstName(set) === tag && areMembersPlain(set, isPlain);
    const values = isTagged ? textsOf(set, tag, terms) : undefined;
    if (!values) others.push(set);
    for (const value of values ?? []) {
      const known = tagged.get(value);
      if (known) known.push(set);
      else tagged.set(value, [set]);
    }
  }
  if (tagged.size < FEWEST) return { tag: undefined, tagged: new Map(), others: sets };
  return { tag, tagged, others };
}

/** The name of the first member of all objects in a set. */
function firstName({ groups, required, names, min, max, dependent }: Objects): string | undefined {
  const [group] = groups;
  if (!group || groups.length > 1 || group.isSilent === true || group.isUnordered === true) return undefined;
  if (names.length > 0 || dependent.length > 0 || min > 0 || max < Infinity) return undefined;
  const [first] = group.named.keys();
  return first !== undefined && required.has(first) ? first : undefined;
}

function textsOf(set: Objects, name: string, terms: Terms): readonly string[] | undefined {
  const term = set.groups[0]?.named.get(name);
  const values = term && terms.literals(term);
  const texts = values && [...values];
  return texts?.every((value) => value.startsWith('"')) === true ? texts : undefined;
}

function areMembersPlain({ groups, required }: Objects, isPlain: (term: Term) => boolean): boolean {
  const [group] = groups;
  if (!group || group.patterns.length > 0 || group.named.size > MAX_WEIGHT) return false;
  const { named, additional } = group;
  for (const name of required) if (!named.has(name)) return false;
  for (const [name, term] of named) {
    if (!isPlain(term) && (required.has(name) || !isFalse(term))) return false;
  }
  return additional === undefined || isFalse(additional) || isPlain(additional);
}

/** The objects; `behind` gives the rule after the tag. */
export function taggedRule(
  tag: string,
  tagged: TaggedObjects['tagged'],
  behind: (set: Objects) => Rule,
  spacing: Spacing,
): Rule {
  const made = new Map<Objects, Rule>();
  const ruleOf = (set: Objects): Rule => {
    const rule = made.get(set) ?? behind(set);
    made.set(set, rule);
    return rule;
  };
  const members = Array.from(tagged, ([value, sets]) => ({
    text: value,
    value: sets.length === 1 && sets[0] ? ruleOf(sets[0]) : choiceRule(...sets.map(ruleOf)),
    isRequired: false,
  }));
  return sequenceRule(
    terminal(spacing.open('{')),
    terminal(text(JSON.stringify(tag))),
    terminal(spacing.colon),
    {
      kind: 'members',
      members,
      separator: terminal(spacing.comma),
      min: 1,
      max: 1,
    },
  );
}

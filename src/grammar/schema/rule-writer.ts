import type { Fuel } from '../fuel.ts';
import type { Rule } from '../grammar.ts';
import type { Regex } from '../regex/regex.ts';
import type { JsonSpelling } from './json-string.ts';
import type { Expander } from './expand.ts';
import type { Term, Values } from './shapes.ts';
import type { Spacing } from './spacing.ts';

/** What the rules of arrays and objects are written with. */
export interface RuleWriter {
  readonly expander: Expander;
  readonly spacing: Spacing;
  readonly fuel: Fuel;
  readonly spelling: JsonSpelling;
  /** Terminals that are known to have a text. */
  readonly someText: Set<Regex>;
  /** How many steps from member to member may still be written for the sake of members in any order, in all objects together. */
  readonly mixing: { left: number };
  /** What stands for a term in other rules. */
  ruleOf(term: Term): Rule;
  /** What stands behind the name of a member whose value satisfies a term: the colon, and the value. */
  memberOf(term: Term): Rule;
  /** Gives a rule its name; what stands for it in other rules. */
  define(name: string, rule: Rule): Rule;
  /** What is neither array nor object of a set; where `isCanonical`, one spelling a value. */
  scalars(values: Values, isCanonical?: boolean): Regex;
}

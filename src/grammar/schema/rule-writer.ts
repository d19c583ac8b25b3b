import type { Fuel } from '../fuel.ts';
import type { Rule } from '../grammar.ts';
import type { Regex } from '../regex/regex.ts';
import type { JsonSpelling } from './json-string.ts';
import type { Expander } from './expand.ts';
import type { Term, Values } from './shapes.ts';
import type { Spacing } from './spacing.ts';

/** What array and object rules need to write their parts. */
export interface RuleWriter {
  readonly expander: Expander;
  readonly spacing: Spacing;
  readonly fuel: Fuel;
  readonly spelling: JsonSpelling;
  /** Terminals that are known to match a text. */
  readonly someText: Set<Regex>;
  /** The number of transitions left for members in any order, for all objects together. */
  readonly mixing: { left: number };
  /** The rule to use for a term in other rules. */
  ruleOf(term: Term): Rule;
  /** The colon and value after a member's name. */
  memberOf(term: Term): Rule;
  /** Names a rule; returns the reference to it. */
  define(name: string, rule: Rule): Rule;
  /** The scalars of a set; with `isCanonical`, one spelling per value. */
  scalars(values: Values, isCanonical?: boolean): Regex;
}

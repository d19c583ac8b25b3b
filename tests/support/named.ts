import { type FamilyFixture, FAMILY_FIXTURES } from './family-fixtures.ts';

/** Those whose names match a pattern, in their order. Throws for a pattern that none matches: a renamed case would be tested no more. */
export function namedLike<T extends { readonly name: string }>(
  of: readonly T[],
  ...patterns: readonly [RegExp, ...RegExp[]]
): T[] {
  const idle = patterns.filter((pattern) => !of.some(({ name }) => pattern.test(name)));
  if (idle.length > 0) throw new Error(`no name matches ${idle.join(', ')}`);
  return of.filter(({ name }) => patterns.some((pattern) => pattern.test(name)));
}

/** The families' fixtures of these names. Throws for one that there is not. */
export function familiesNamed(names: readonly string[]): FamilyFixture[] {
  const missing = names.filter((name) => !FAMILY_FIXTURES.some((family) => family.name === name));
  if (missing.length > 0) throw new Error(`no fixture is named ${missing.join(', ')}`);
  return FAMILY_FIXTURES.filter(({ name }) => names.includes(name));
}

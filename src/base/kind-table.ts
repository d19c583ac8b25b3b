/** Members of a union, told apart by their kind. */
export interface OfSomeKind {
  readonly kind: string;
}

/** The member of a union that has a kind, or may have it among others. */
export type OfKind<Union extends OfSomeKind, Kind> = Union extends OfSomeKind
  ? Kind extends Union['kind']
    ? Union
    : never
  : never;

/** A function for each kind of a union, given a member and what else there is: a table that lacks a kind does not compile. */
export type KindTable<Union extends OfSomeKind, More extends readonly unknown[], Result> = {
  readonly [Kind in Union['kind']]: (member: OfKind<Union, Kind>, ...more: More) => Result;
};

/** Calls the function that a table has for a member's kind. */
export function applyByKind<Union extends OfSomeKind, More extends readonly unknown[], Result>(
  table: KindTable<Union, More, Result>,
  member: Union,
  ...more: More
): Result {
  const functions: Readonly<Record<string, unknown>> = table;
  // The compiler does not see that a member and the function of its kind belong together.
  return (functions[member.kind] as (member: Union, ...more: More) => Result)(member, ...more);
}

import type { Fuel } from '../fuel.ts';
import type { RegularLanguages } from '../regex/regular-languages.ts';
import type { SchemaDocument } from './document.ts';
import { type Term, termOf } from './shapes.ts';

/** What the algebra of sets of values asks of who reads schemas. */
export interface Terms {
  readonly document: SchemaDocument;
  readonly languages: RegularLanguages;
  readonly fuel: Fuel;
  /** True where it is known that nothing satisfies a term. */
  isNothing(term: Term): boolean;
  /** The JSON of all values that satisfy a term, where it is known that they are these few. */
  literals(term: Term): ReadonlySet<string> | undefined;
}

/** What does not satisfy a term. */
export function negation(term: Term, { document }: Terms): Term {
  return termOf([document.negation(term.nodes)]);
}

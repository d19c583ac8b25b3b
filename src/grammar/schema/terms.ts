import type { Fuel } from '../fuel.ts';
import type { RegularLanguages } from '../regex/regular-languages.ts';
import type { SchemaDocument } from './document.ts';
import { type Term, termOf } from './shapes.ts';

/** What the algebra needs from the reader of schemas. */
export interface Terms {
  readonly document: SchemaDocument;
  readonly languages: RegularLanguages;
  readonly fuel: Fuel;
  /** True when a term is known to be unsatisfiable. */
  isNothing(term: Term): boolean;
  /** The JSON of all values that satisfy a term, when they are known to be a short list. */
  literals(term: Term): ReadonlySet<string> | undefined;
}

/** The complement of a term. */
export function negation(term: Term, { document }: Terms): Term {
  return termOf([document.negation(term.nodes)]);
}

import type { Op, OpKind } from './op.ts';

/** The operator of a kind. */
export type OpOf<Kind extends OpKind, All extends Op = Op> = All extends Op
  ? Kind extends All['kind']
    ? All
    : never
  : never;

/** What is done with each kind of operator, given a `Scope`: a table that lacks a kind does not compile. */
export type OpTable<Scope> = { readonly [Kind in OpKind]: (op: OpOf<Kind>, scope: Scope) => void };

/** Does with an operator what the table says for its kind. */
export function applyOp<Scope>(table: OpTable<Scope>, op: Op, scope: Scope): void {
  // The compiler does not see that an operator and the entry of its kind belong together.
  (table[op.kind] as (op: Op, scope: Scope) => void)(op, scope);
}

import type { Str } from './str.ts';

/** Binary operators of which Python evaluates both operands. */
export type BinaryOperator = '+' | '-' | '*' | '/' | '//' | '%' | '**';

/** Comparison operators. */
export type Comparison = '==' | '!=' | '<' | '<=' | '>' | '>=' | 'in' | 'not in';

interface Node {
  /** Counted from 1. */
  readonly line: number;
}

/** The arguments of a call, a filter or a test. */
export interface Arguments {
  readonly positional: readonly Expression[];
  readonly named: readonly (readonly [string, Expression])[];
  /** The operand of `*`. */
  readonly more: Expression | undefined;
  /** The operand of `**`. */
  readonly moreNamed: Expression | undefined;
}

/** A Jinja2 expression. */
export type Expression = Node &
  (
    | { readonly kind: 'constant'; readonly value: null | boolean | bigint | number | Str }
    | { readonly kind: 'name'; readonly name: string }
    | { readonly kind: 'list' | 'tuple'; readonly items: readonly Expression[] }
    | { readonly kind: 'dict'; readonly pairs: readonly (readonly [Expression, Expression])[] }
    | { readonly kind: 'attribute'; readonly object: Expression; readonly name: string }
    | { readonly kind: 'item'; readonly object: Expression; readonly index: Expression }
    | {
        readonly kind: 'slice';
        readonly start: Expression | undefined;
        readonly stop: Expression | undefined;
        readonly step: Expression | undefined;
      }
    | { readonly kind: 'call'; readonly callee: Expression; readonly args: Arguments }
    /** Without a value, it filters the text of a block. */
    | {
        readonly kind: 'filter';
        readonly value: Expression | undefined;
        readonly name: string;
        readonly args: Arguments;
      }
    | { readonly kind: 'test'; readonly value: Expression; readonly name: string; readonly args: Arguments }
    | {
        readonly kind: 'binary';
        readonly operator: BinaryOperator;
        readonly left: Expression;
        readonly right: Expression;
      }
    | { readonly kind: 'negative' | 'positive' | 'not'; readonly operand: Expression }
    | { readonly kind: 'and' | 'or'; readonly left: Expression; readonly right: Expression }
    | {
        readonly kind: 'compare';
        readonly first: Expression;
        readonly rest: readonly (readonly [Comparison, Expression])[];
      }
    | { readonly kind: 'concat'; readonly items: readonly Expression[] }
    | {
        readonly kind: 'condition';
        readonly test: Expression;
        readonly value: Expression;
        readonly otherwise: Expression | undefined;
      }
  );

/** The target of an assignment. */
export type Target =
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'tuple'; readonly items: readonly Target[] }
  | { readonly kind: 'namespace'; readonly name: string; readonly attribute: string };

/** A parameter of a macro. */
export interface Parameter {
  readonly name: string;
  readonly standard: Expression | undefined;
}

/** The signature and body of a macro or a call block. */
export interface MacroBody {
  readonly parameters: readonly Parameter[];
  readonly body: readonly Statement[];
  /** Whether the body reads `varargs`, `kwargs` and `caller`: callers may not pass what it does not read. */
  readonly reads: { readonly varargs: boolean; readonly kwargs: boolean; readonly caller: boolean };
}

/** A Jinja2 statement. */
export type Statement = Node &
  (
    | { readonly kind: 'text'; readonly text: Str }
    | { readonly kind: 'output'; readonly value: Expression }
    | {
        readonly kind: 'if';
        readonly branches: readonly { readonly test: Expression; readonly body: readonly Statement[] }[];
        readonly otherwise: readonly Statement[];
      }
    | {
        readonly kind: 'for';
        readonly target: Target;
        readonly iterable: Expression;
        readonly test: Expression | undefined;
        readonly recursive: boolean;
        readonly body: readonly Statement[];
        readonly otherwise: readonly Statement[];
      }
    | { readonly kind: 'break' | 'continue' }
    | { readonly kind: 'set'; readonly target: Target; readonly value: Expression }
    | {
        readonly kind: 'set block';
        readonly target: Target;
        readonly filter: Expression | undefined;
        readonly body: readonly Statement[];
      }
    | {
        readonly kind: 'with';
        readonly bindings: readonly (readonly [Target, Expression])[];
        readonly body: readonly Statement[];
      }
    | { readonly kind: 'filter block'; readonly filter: Expression; readonly body: readonly Statement[] }
    | { readonly kind: 'macro'; readonly name: string; readonly macro: MacroBody }
    | { readonly kind: 'call block'; readonly call: Expression; readonly macro: MacroBody }
    | { readonly kind: 'generation'; readonly body: readonly Statement[] }
    | {
        readonly kind: 'block';
        readonly name: string;
        readonly scoped: boolean;
        readonly body: readonly Statement[];
      }
  );

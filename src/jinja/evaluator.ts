import { getAttribute, getItem, getSlice } from './access.ts';
import type { Budget } from './budget.ts';
import { compare, contains, equals } from './comparison.ts';
import type { Filter } from './filter.ts';
import { raise } from './jinja-error.ts';
import type { Arguments, Comparison, Expression } from './nodes.ts';
import { binary, signed } from './operators.ts';
import type { Scope } from './scope.ts';
import { concat, Str } from './str.ts';
import type { Test } from './tests.ts';
import { textOf } from './text-of.ts';
import {
  type Args,
  Callable,
  type Context,
  Dict,
  iterate,
  List,
  truth,
  Tuple,
  typeName,
  Undefined,
  type Value,
} from './values.ts';

/** The names that a template can call. */
export interface Library {
  readonly filters: ReadonlyMap<string, Filter>;
  readonly tests: ReadonlyMap<string, Test>;
}

type Of<Kind extends Expression['kind']> = Extract<Expression, { kind: Kind }>;

/** Evaluates expressions as Python evaluates Jinja2's compiled code. */
export class Evaluator implements Context {
  readonly budget: Budget;
  readonly #library: Library;

  constructor(library: Library, budget: Budget) {
    this.#library = library;
    this.budget = budget;
  }

  attribute(value: Value, name: string): Value {
    return getAttribute(value, name, this);
  }

  item(value: Value, index: Value): Value {
    return getItem(value, index, this);
  }

  filter(name: string, value: Value, args: Args): Value {
    this.budget.spend();
    const filter = this.#library.filters.get(name);
    return filter ? filter(value, args, this) : raise(`No filter named '${name}' found.`);
  }

  test(name: string, value: Value, args: Args): boolean {
    this.budget.spend();
    const test = this.#library.tests.get(name);
    return test ? test(value, args.positional, this) : raise(`No test named '${name}' found.`);
  }

  evaluate(expression: Expression, scope: Scope): Value {
    this.budget.enter();
    const value = this.#evaluate(expression, scope);
    this.budget.leave();
    return value;
  }

  #evaluate(node: Expression, scope: Scope): Value {
    switch (node.kind) {
      case 'constant':
        return node.value;
      case 'name':
        return this.#name(node.name, scope);
      case 'list':
        return new List(this.#all(node.items, scope));
      case 'tuple':
        return new Tuple(this.#all(node.items, scope));
      case 'dict':
        return this.#dict(node, scope);
      case 'attribute':
        return getAttribute(this.evaluate(node.object, scope), node.name, this);
      case 'item':
        return this.#item(node, scope);
      case 'slice':
        return raise('a slice stands alone in its brackets');
      case 'call':
        return this.call(node, scope);
      case 'filter':
        return this.filterBy(node, undefined, scope);
      case 'test':
        return this.test(node.name, this.evaluate(node.value, scope), this.arguments(node.args, scope));
      case 'concat':
        return concat(
          this.#all(node.items, scope).map((item) => textOf(item, this)),
          this.budget,
        );
      case 'condition':
        return this.#condition(node, scope);
      default:
        return this.#operation(node, scope);
    }
  }

  #operation(
    node: Of<'binary' | 'negative' | 'positive' | 'not' | 'and' | 'or' | 'compare'>,
    scope: Scope,
  ): Value {
    switch (node.kind) {
      case 'binary':
        return this.#binary(node, scope);
      case 'negative':
        return signed('-', this.evaluate(node.operand, scope));
      case 'positive':
        return signed('+', this.evaluate(node.operand, scope));
      case 'not':
        return !this.truth(node.operand, scope);
      case 'and': {
        const left = this.evaluate(node.left, scope);
        return truth(left, this) ? this.evaluate(node.right, scope) : left;
      }
      case 'or': {
        const left = this.evaluate(node.left, scope);
        return truth(left, this) ? left : this.evaluate(node.right, scope);
      }
      case 'compare':
        return this.#compare(node, scope);
    }
  }

  /** Whether an expression is true in Python. */
  truth(expression: Expression, scope: Scope): boolean {
    return truth(this.evaluate(expression, scope), this);
  }

  /** Applies a filter, or a chain of filters; `text` is the innermost one's input if the chain has none. */
  filterBy(node: Expression, text: Str | undefined, scope: Scope): Value {
    if (node.kind !== 'filter') return raise('expected a filter');
    const inner = node.value;
    const value =
      inner === undefined
        ? (text as Str)
        : inner.kind === 'filter'
          ? this.filterBy(inner, text, scope)
          : this.evaluate(inner, scope);
    return this.filter(node.name, value, this.arguments(node.args, scope));
  }

  /** Calls a callable; `caller` is passed by a call block. */
  call(node: Expression, scope: Scope, caller?: Value): Value {
    if (node.kind !== 'call') return raise('expected a call');
    const callee = this.evaluate(node.callee, scope);
    const args = this.arguments(node.args, scope);
    if (callee instanceof Undefined) callee.fail();
    if (!(callee instanceof Callable)) return raise(`'${typeName(callee)}' object is not callable`);
    if (caller === undefined) return callee.call(args, this);
    return callee.call({ ...args, named: new Map([...args.named, ['caller', caller]]) }, this);
  }

  arguments(args: Arguments, scope: Scope): Args {
    const positional = this.#all(args.positional, scope);
    const named = new Map<string, Value>();
    for (const [name, value] of args.named) {
      if (named.has(name)) raise(`keyword argument repeated: ${name}`);
      named.set(name, this.evaluate(value, scope));
    }
    if (args.more) positional.push(...iterate(this.evaluate(args.more, scope), this));
    if (args.moreNamed) this.#moreNamed(this.evaluate(args.moreNamed, scope), named);
    return { positional, named };
  }

  #moreNamed(value: Value, named: Map<string, Value>): void {
    if (!(value instanceof Dict)) return raise(`argument after ** must be a mapping, not ${typeName(value)}`);
    for (const [key, item] of value.pairs()) {
      if (!(key instanceof Str)) return raise('keywords must be strings');
      if (named.has(key.text)) raise(`got multiple values for keyword argument '${key.text}'`);
      named.set(key.text, item);
    }
  }

  #all(expressions: readonly Expression[], scope: Scope): Value[] {
    return expressions.map((expression) => this.evaluate(expression, scope));
  }

  #name(name: string, scope: Scope): Value {
    const value = scope.get(name);
    return value === undefined ? new Undefined(`'${name}' is undefined`) : value;
  }

  #dict(node: Of<'dict'>, scope: Scope): Dict {
    const dict = new Dict();
    for (const [key, value] of node.pairs) dict.set(this.evaluate(key, scope), this.evaluate(value, scope));
    return dict;
  }

  #item({ object, index }: Of<'item'>, scope: Scope): Value {
    const value = this.evaluate(object, scope);
    if (index.kind !== 'slice') return getItem(value, this.evaluate(index, scope), this);
    const bound = (expression: Expression | undefined) =>
      expression ? this.evaluate(expression, scope) : null;
    const bounds = { start: bound(index.start), stop: bound(index.stop), step: bound(index.step) };
    return getSlice(value, bounds, this);
  }

  #condition(node: Of<'condition'>, scope: Scope): Value {
    if (this.truth(node.test, scope)) return this.evaluate(node.value, scope);
    if (node.otherwise) return this.evaluate(node.otherwise, scope);
    return new Undefined(
      `the inline if-expression on line ${node.line} evaluated to false and no else section was defined.`,
    );
  }

  /** Long sums are nested on the left: a loop avoids deep recursion. */
  #binary(node: Of<'binary'>, scope: Scope): Value {
    const spine: Of<'binary'>[] = [];
    let first: Expression = node;
    for (; first.kind === 'binary'; first = first.left) spine.push(first);
    let value = this.evaluate(first, scope);
    for (const { operator, right } of spine.reverse()) {
      value = binary(operator, value, this.evaluate(right, scope), this);
    }
    return value;
  }

  #compare({ first, rest }: Of<'compare'>, scope: Scope): Value {
    let left = this.evaluate(first, scope);
    for (const [how, expression] of rest) {
      const right = this.evaluate(expression, scope);
      if (!this.#holds(how, left, right)) return false;
      left = right;
    }
    return true;
  }

  #holds(how: Comparison, a: Value, b: Value): boolean {
    switch (how) {
      case '==':
        return equals(a, b, this);
      case '!=':
        return !equals(a, b, this);
      case 'in':
        return contains(b, a, this);
      case 'not in':
        return !contains(b, a, this);
      case '<':
        return compare(a, b, how, this) < 0;
      case '<=':
        return compare(a, b, how, this) <= 0;
      case '>':
        return compare(a, b, how, this) > 0;
      case '>=':
        return compare(a, b, how, this) >= 0;
    }
  }
}

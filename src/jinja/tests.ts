import { bindPositional } from './arguments.ts';
import { compare, contains, equals } from './comparison.ts';
import { binary } from './operators.ts';
import { Str } from './str.ts';
import { isAllOf } from './str-case.ts';
import { textOf } from './text-of.ts';
import {
  Callable,
  type Context,
  Dict,
  List,
  numberOf,
  Range,
  Tuple,
  Undefined,
  type Value,
  valuesOf,
} from './values.ts';

/** A Jinja2 test, called with a value and further arguments. */
export type Test = (value: Value, args: readonly Value[], context: Context) => boolean;

type Asked = (value: Value, context: Context) => boolean;
type Compared = (value: Value, other: Value, context: Context) => boolean;

const ordered =
  (operator: string, fits: (order: number) => boolean): Compared =>
  (a, b, context) =>
    fits(compare(a, b, operator, context));

const COMPARED: Readonly<Record<string, Compared>> = {
  divisibleby: (value, by, context) => equals(binary('%', value, by, context), 0n, context),
  eq: equals,
  ne: (a, b, context) => !equals(a, b, context),
  lt: ordered('<', (order) => order < 0),
  le: ordered('<=', (order) => order <= 0),
  gt: ordered('>', (order) => order > 0),
  ge: ordered('>=', (order) => order >= 0),
  in: (value, container, context) => contains(container, value, context),
  sameas: (a, b) => (a instanceof Str && b instanceof Str ? a.text === b.text : a === b),
};

const ASKED: Readonly<Record<string, Asked>> = {
  boolean: (value) => typeof value === 'boolean',
  callable: (value) => value instanceof Callable || value instanceof Undefined,
  defined: (value) => !(value instanceof Undefined),
  escaped: (value) => value instanceof Str && value.safe,
  even: (value, context) => equals(binary('%', value, 2n, context), 0n, context),
  false: (value) => value === false,
  float: (value) => typeof value === 'number',
  integer: (value) => typeof value === 'bigint',
  iterable: (value, context) => valuesOf(value, context) !== undefined,
  lower: (value, context) => isAllOf(textOf(value, context).text, 'lower'),
  mapping: (value) => value instanceof Dict,
  none: (value) => value === null,
  number: (value) => numberOf(value) !== undefined,
  odd: (value, context) => equals(binary('%', value, 2n, context), 1n, context),
  sequence: isSequence,
  string: (value) => value instanceof Str,
  true: (value) => value === true,
  undefined: (value) => value instanceof Undefined,
  upper: (value, context) => isAllOf(textOf(value, context).text, 'upper'),
};

/** Whether a value has a length and items: this includes dicts and undefined values. */
function isSequence(value: Value): boolean {
  return (
    value instanceof Str ||
    value instanceof Undefined ||
    value instanceof List ||
    value instanceof Tuple ||
    value instanceof Dict ||
    value instanceof Range
  );
}

/** Other names of the same tests. */
const ALIASES: Readonly<Record<string, string>> = {
  equalto: 'eq',
  '==': 'eq',
  '!=': 'ne',
  lessthan: 'lt',
  '<': 'lt',
  '<=': 'le',
  greaterthan: 'gt',
  '>': 'gt',
  '>=': 'ge',
};

/** Jinja2's tests by name. `filters`: those that the test `filter` knows. */
export function makeTests(filters: { has(name: string): boolean }): ReadonlyMap<string, Test> {
  const tests = new Map<string, Test>();
  for (const [name, asked] of Object.entries(ASKED)) {
    tests.set(name, (value, args, context) => {
      bindPositional(name, { positional: args, named: new Map() }, 0);
      return asked(value, context);
    });
  }
  for (const [name, compared] of Object.entries(COMPARED)) {
    tests.set(name, (value, args, context) => {
      const [other] = bindPositional(name, { positional: args, named: new Map() }, 1, 1);
      return compared(value, other as Value, context);
    });
  }
  for (const [alias, name] of Object.entries(ALIASES)) tests.set(alias, tests.get(name) as Test);
  tests.set('filter', (value) => value instanceof Str && filters.has(value.text));
  tests.set('test', (value) => value instanceof Str && tests.has(value.text));
  return tests;
}

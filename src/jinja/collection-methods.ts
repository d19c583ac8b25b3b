import { bindPositional } from './arguments.ts';
import { equals } from './comparison.ts';
import { raise } from './jinja-error.ts';
import type { Method } from './method.ts';
import { repr } from './text-of.ts';
import {
  type Args,
  type Context,
  Dict,
  DictView,
  integerOf,
  List,
  type Tuple,
  type Value,
} from './values.ts';

function count(items: readonly Value[], args: Args, context: Context): Value {
  const [wanted] = bindPositional('count', args, 1, 1);
  context.budget.spend(items.length);
  return BigInt(items.filter((item) => equals(item, wanted as Value, context)).length);
}

function index(items: readonly Value[], args: Args, context: Context): Value {
  const [wanted, start = 0n, stop = BigInt(items.length)] = bindPositional('index', args, 3, 1);
  context.budget.spend(items.length);
  const at = (value: Value) => {
    const number = integerOf(value);
    return number < 0 ? Math.max(0, number + items.length) : number;
  };
  const end = at(stop);
  for (let i = at(start); i < Math.min(end, items.length); i++) {
    if (equals(items[i] as Value, wanted as Value, context)) return BigInt(i);
  }
  return raise(`${repr(wanted as Value, context).text} is not in list`);
}

const searching: readonly (readonly [string, Method])[] = [
  ['count', (self, args, context) => count((self as List | Tuple).items, args, context)],
  ['index', (self, args, context) => index((self as List | Tuple).items, args, context)],
];

/** The methods of Python's `list` that do not modify it. */
export const LIST_METHODS: ReadonlyMap<string, Method> = new Map([
  ...searching,
  [
    'copy',
    (self, args) => {
      bindPositional('copy', args, 0);
      return new List((self as List).items);
    },
  ],
]);

/** The methods of Python's `tuple`. */
export const TUPLE_METHODS: ReadonlyMap<string, Method> = new Map(searching);

const viewing =
  (of: 'keys' | 'values' | 'items'): Method =>
  (self, args) => {
    bindPositional(of, args, 0);
    return new DictView(self as Dict, of);
  };

/** The methods of Python's `dict` that do not modify it. */
export const DICT_METHODS: ReadonlyMap<string, Method> = new Map<string, Method>([
  [
    'copy',
    (self, args) => {
      bindPositional('copy', args, 0);
      return new Dict((self as Dict).pairs());
    },
  ],
  [
    'get',
    (self, args) => {
      const [key, otherwise = null] = bindPositional('get', args, 2, 1);
      const found = (self as Dict).get(key as Value);
      return found === undefined ? otherwise : found;
    },
  ],
  ['items', viewing('items')],
  ['keys', viewing('keys')],
  ['values', viewing('values')],
]);

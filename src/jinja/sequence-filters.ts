import { bind } from './arguments.ts';
import { compare, equals, sorted } from './comparison.ts';
import type { Filter, Filters } from './filter.ts';
import { raise } from './jinja-error.ts';
import { binary } from './operators.ts';
import { Str, StrBuilder } from './str.ts';
import { lower } from './str-case.ts';
import { attributeGetter } from './text-filters.ts';
import { repr } from './text-of.ts';
import {
  type Args,
  type Context,
  Dict,
  DictView,
  Generator,
  integerOf,
  iterate,
  type Key,
  keyOf,
  List,
  listOf,
  Range,
  truth,
  Tuple,
  typeName,
  Undefined,
  type Value,
} from './values.ts';

/** The key by which strings are compared if case does not matter. */
function foldedUnless(caseSensitive: Value, context: Context): (value: Value) => Value {
  if (truth(caseSensitive, context)) return (value) => value;
  return (value) => (value instanceof Str ? lower(value, context.budget) : value);
}

function batch(value: Value, args: Args, context: Context): Value {
  const [size, fill = null] = bind('batch', args, ['linecount', 'fill_with'], 1);
  const count = integerOf(size as Value);
  return generate(function* () {
    let group: Value[] = [];
    for (const item of iterate(value, context)) {
      if (group.length === count) {
        yield new List(group);
        group = [];
      }
      group.push(item);
    }
    if (group.length === 0) return;
    if (fill !== null && group.length < count) {
      context.budget.spend(count - group.length);
      while (group.length < count) group.push(fill);
    }
    yield new List(group);
  });
}

function generate(values: () => IterableIterator<Value>): Generator {
  return new Generator(values());
}

function slice(value: Value, args: Args, context: Context): Value {
  const [slices, fill = null] = bind('slice', args, ['slices', 'fill_with'], 1);
  const count = integerOf(slices as Value);
  return generate(function* () {
    const items = listOf(value, context);
    if (count === 0) raise('integer division or modulo by zero');
    const size = Math.floor(items.length / count);
    const longer = items.length - size * count;
    for (let i = 0; i < count; i++) {
      context.budget.make();
      const start = i * size + Math.min(i, longer);
      const group = items.slice(start, start + size + (i < longer ? 1 : 0));
      yield new List(fill !== null && i >= longer ? [...group, fill] : group);
    }
  });
}

function dictSort(value: Value, args: Args, context: Context): Value {
  const names = ['case_sensitive', 'by', 'reverse'];
  const [caseSensitive = false, by = Str.written('key'), reverse = false] = bind('dictsort', args, names);
  if (value instanceof Undefined) value.fail();
  if (!(value instanceof Dict)) return raise(`'${typeName(value)} object' has no attribute 'items'`);
  const of = by instanceof Str ? by.text : '';
  if (of !== 'key' && of !== 'value') raise('You can only sort by either "key" or "value"');
  const fold = foldedUnless(caseSensitive, context);
  const pairs = [...value.pairs()].map((pair) => new Tuple(pair));
  const key = (pair: Value) => fold((pair as Tuple).items[of === 'key' ? 0 : 1] as Value);
  return new List(sorted(pairs, key, truth(reverse, context), context));
}

function sort(value: Value, args: Args, context: Context): Value {
  const names = ['reverse', 'case_sensitive', 'attribute'];
  const [reverse = false, caseSensitive = false, attribute = null] = bind('sort', args, names);
  const fold = foldedUnless(caseSensitive, context);
  const paths =
    attribute instanceof Str ? attribute.text.split(',').map((path) => Str.written(path)) : [attribute];
  const getters = paths.map((path) => attributeGetter(path, context));
  const key = (item: Value) => new List(getters.map((get) => fold(get(item))));
  return new List(sorted(listOf(value, context), key, truth(reverse, context), context));
}

function unique(value: Value, args: Args, context: Context): Value {
  const [caseSensitive = false, attribute = null] = bind('unique', args, ['case_sensitive', 'attribute']);
  const fold = foldedUnless(caseSensitive, context);
  const get = attributeGetter(attribute, context);
  return generate(function* () {
    const seen = new Set<Key>();
    for (const item of iterate(value, context)) {
      const key = keyOf(fold(get(item)));
      if (seen.has(key)) continue;
      seen.add(key);
      yield item;
    }
  });
}

const extreme =
  (name: 'min' | 'max'): Filter =>
  (value, args, context) => {
    const [caseSensitive = false, attribute = null] = bind(name, args, ['case_sensitive', 'attribute']);
    const fold = foldedUnless(caseSensitive, context);
    const get = attributeGetter(attribute, context);
    let best: { item: Value; key: Value } | undefined;
    for (const item of iterate(value, context)) {
      const key = fold(get(item));
      const order = best ? compare(key, best.key, name === 'min' ? '<' : '>', context) : 0;
      if (!best || (name === 'min' ? order < 0 : order > 0)) best = { item, key };
    }
    return best ? best.item : new Undefined('No aggregated item, sequence was empty.');
  };

function groupBy(value: Value, args: Args, context: Context): Value {
  const names = ['attribute', 'default', 'case_sensitive'];
  const [attribute = null, standard = null, caseSensitive = false] = bind('groupby', args, names, 1);
  const fold = foldedUnless(caseSensitive, context);
  const get = attributeGetter(attribute, context, standard);
  const groups: { key: Value; name: Value; items: Value[] }[] = [];
  for (const item of sorted(listOf(value, context), (one) => fold(get(one)), false, context)) {
    const key = fold(get(item));
    const last = groups.at(-1);
    if (last && equals(last.key, key, context)) last.items.push(item);
    else groups.push({ key, name: get(item), items: [item] });
  }
  return new List(groups.map(({ name, items }) => new Tuple([name, new List(items)], ['grouper', 'list'])));
}

function sum(value: Value, args: Args, context: Context): Value {
  const [attribute = null, start = 0n] = bind('sum', args, ['attribute', 'start']);
  if (start instanceof Str) raise("sum() can't sum strings [use ''.join(seq) instead]");
  const get = attributeGetter(attribute, context);
  let total: Value = start;
  for (const item of iterate(value, context)) total = binary('+', total, get(item), context);
  return total;
}

function first(value: Value, args: Args, context: Context): Value {
  bind('first', args, []);
  for (const item of iterate(value, context)) return item;
  return new Undefined('No first item, sequence was empty.');
}

function reversible(value: Value, context: Context): readonly Value[] {
  if (value instanceof Str || value instanceof Undefined) return listOf(value, context);
  const fits = [List, Tuple, Dict, DictView, Range].some((type) => value instanceof type);
  return fits ? listOf(value, context) : raise(`'${typeName(value)}' object is not reversible`);
}

function last(value: Value, args: Args, context: Context): Value {
  bind('last', args, []);
  const items = reversible(value, context);
  return items.length > 0 ? (items.at(-1) as Value) : new Undefined('No last item, sequence was empty.');
}

function reverse(value: Value, args: Args, context: Context): Value {
  bind('reverse', args, []);
  if (value instanceof Str) {
    const builder = new StrBuilder(context.budget);
    for (let i = value.length - 1; i >= 0; i--) builder.add(value.at(i));
    return builder.done(value.safe);
  }
  const items = [...listOf(value, context)].reverse();
  const isIterator = value instanceof List || value instanceof Tuple || value instanceof Dict;
  return isIterator ? new Generator(items, 'list_reverseiterator') : new List(items);
}

function map(value: Value, args: Args, context: Context): Value {
  if (!truth(value, context)) return new Generator([]);
  return generate(function* () {
    const apply = mapper(args, context);
    for (const item of iterate(value, context)) yield apply(item);
  });
}

function mapper(args: Args, context: Context): (value: Value) => Value {
  const { positional, named } = args;
  const attribute = named.get('attribute');
  if (positional.length === 0 && attribute !== undefined) {
    const unexpected = [...named.keys()].find((name) => name !== 'attribute' && name !== 'default');
    if (unexpected !== undefined) raise(`Unexpected keyword argument '${unexpected}'`);
    return attributeGetter(attribute, context, named.get('default'));
  }
  const [name, ...rest] = positional;
  if (name === undefined) return raise('map requires a filter argument');
  return (value) => context.filter(nameOf(name, context), value, { positional: rest, named });
}

function nameOf(name: Value, context: Context): string {
  return name instanceof Str ? name.text : repr(name, context).text;
}

const selecting =
  (wanted: boolean, byAttribute: boolean): Filter =>
  (value, args, context) => {
    if (!truth(value, context)) return new Generator([]);
    return generate(function* () {
      const { positional, named } = args;
      if (byAttribute && positional.length === 0) raise('Missing parameter for attribute name');
      const get = byAttribute ? attributeGetter(positional[0] as Value, context) : (item: Value) => item;
      const [name, ...rest] = byAttribute ? positional.slice(1) : positional;
      for (const item of iterate(value, context)) {
        const asked = get(item);
        const fits =
          name === undefined
            ? truth(asked, context)
            : context.test(nameOf(name, context), asked, { positional: rest, named });
        if (fits === wanted) yield item;
      }
    });
  };

function attr(value: Value, args: Args, context: Context): Value {
  const [name] = bind('attr', args, ['name'], 1);
  if (!(name instanceof Str)) return raise('attribute name must be string');
  // Unlike `value.name`, it does not fall back to items.
  if (value instanceof Dict && value.named(name.text) !== undefined) {
    const bare = context.attribute(new Dict(), name.text);
    return bare instanceof Undefined ? bare : context.attribute(value, name.text);
  }
  return context.attribute(value, name.text);
}

function items(value: Value, args: Args, context: Context): Value {
  bind('items', args, []);
  return generate(function* () {
    if (value instanceof Undefined) return;
    if (!(value instanceof Dict)) return raise('Can only get item pairs from a mapping.');
    yield* iterate(new DictView(value, 'items'), context);
  });
}

function standard(value: Value, args: Args, context: Context): Value {
  const [otherwise = Str.written(''), whenFalse = false] = bind('default', args, [
    'default_value',
    'boolean',
  ]);
  const missing = value instanceof Undefined || (truth(whenFalse, context) && !truth(value, context));
  return missing ? otherwise : value;
}

/** The filters of lists, dicts and other iterables. */
export const SEQUENCE_FILTERS: Filters = {
  attr,
  batch,
  d: standard,
  default: standard,
  dictsort: dictSort,
  first,
  groupby: groupBy,
  items,
  last,
  list(value, args, context) {
    bind('list', args, []);
    return new List([...listOf(value, context)]);
  },
  map,
  max: extreme('max'),
  min: extreme('min'),
  reject: selecting(false, false),
  rejectattr: selecting(false, true),
  reverse,
  select: selecting(true, false),
  selectattr: selecting(true, true),
  slice,
  sort,
  sum,
  unique,
};

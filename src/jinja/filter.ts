import type { Args, Context, Value } from './values.ts';

/** A Jinja2 filter, called with a value and further arguments. */
export type Filter = (value: Value, args: Args, context: Context) => Value;

/** Filters by name. */
export type Filters = Readonly<Record<string, Filter>>;

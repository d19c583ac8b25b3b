import type { Args, Context, Value } from './values.ts';

/** A filter of Jinja2, of a value and the arguments behind it. */
export type Filter = (value: Value, args: Args, context: Context) => Value;

/** Filters by their names. */
export type Filters = Readonly<Record<string, Filter>>;

import type { Args, Context, Value } from './values.ts';

/** A method of a built-in type, called with the object it belongs to. */
export type Method = (self: Value, args: Args, context: Context) => Value;

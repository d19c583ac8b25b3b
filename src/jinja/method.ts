import type { Args, Context, Value } from './values.ts';

/** A method of a built-in type, given what it is called on. */
export type Method = (self: Value, args: Args, context: Context) => Value;

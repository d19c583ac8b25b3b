import { raise } from './jinja-error.ts';
import { Str } from './str.ts';
import { type Args, typeName, type Value } from './values.ts';

/** No arguments. */
export const NO_ARGS: Args = { positional: [], named: new Map() };

/** Arguments by position only. */
export function positional(...values: Value[]): Args {
  return { positional: values, named: NO_ARGS.named };
}

/**
 * Binds arguments to parameter names, in order; undefined if one was not passed. `required` is the number of mandatory
 * ones. Throws like Python's `TypeError`.
 */
export function bind(
  name: string,
  args: Args,
  parameters: readonly string[],
  required = 0,
): (Value | undefined)[] {
  if (args.positional.length > parameters.length) {
    raise(`${name}() takes at most ${parameters.length} arguments (${args.positional.length} given)`);
  }
  const bound: (Value | undefined)[] = [...args.positional];
  bound.length = parameters.length;
  for (const [key, value] of args.named) {
    const at = parameters.indexOf(key);
    if (at < 0) raise(`${name}() got an unexpected keyword argument '${key}'`);
    if (at < args.positional.length) raise(`${name}() got multiple values for argument '${key}'`);
    bound[at] = value;
  }
  for (let i = 0; i < required; i++) {
    if (bound[i] === undefined) raise(`${name}() missing a required argument: '${parameters[i]}'`);
  }
  return bound;
}

/** Binds the arguments of a method that takes positional ones only. Throws like Python's `TypeError`. */
export function bindPositional(name: string, args: Args, most: number, required = 0): (Value | undefined)[] {
  if (args.named.size > 0) raise(`${name}() takes no keyword arguments`);
  const { length } = args.positional;
  if (length > most || length < required) {
    raise(
      `${name}() expected ${required === most ? most : `${required} to ${most}`} arguments, got ${length}`,
    );
  }
  return [...args.positional];
}

/** A string argument. Throws if it has another type. */
export function stringOf(value: Value | undefined, name: string): Str {
  if (value instanceof Str) return value;
  return raise(`${name} must be str, not ${value === undefined ? 'missing' : typeName(value)}`);
}

import { bind, bindPositional, stringOf } from './arguments.ts';
import { JinjaError, raise } from './jinja-error.ts';
import { Cycler } from './loop.ts';
import { Scope } from './scope.ts';
import { Str } from './str.ts';
import { strftime } from './strftime.ts';
import { textOf } from './text-of.ts';
import {
  type Args,
  Builtin,
  type Context,
  Dict,
  iterate,
  listOf,
  Namespace,
  numberOf,
  Range,
  typeName,
  type Value,
} from './values.ts';

/** Maximum length of `range(...)`, as in Jinja2's sandbox. */
const MAX_RANGE_LENGTH = 100_000;

function range(args: Args): Value {
  const bounds = bindPositional('range', args, 3, 1).map((value) => {
    const number = numberOf(value as Value);
    if (typeof number === 'bigint') return number;
    return raise(`'${typeName(value as Value)}' object cannot be interpreted as an integer`);
  });
  const [first = 0n, second, step = 1n] = bounds;
  if (step === 0n) raise('range() arg 3 must not be zero');
  const made = second === undefined ? new Range(0n, first, 1n) : new Range(first, second, step);
  if (made.length() > MAX_RANGE_LENGTH) {
    raise(`Range too big. The sandbox blocks ranges larger than MAX_RANGE (${MAX_RANGE_LENGTH}).`);
  }
  return made;
}

/** Python's `dict(...)`, from a dict or pairs, and keyword arguments. */
function dict(args: Args, context: Context): Dict {
  const [from] = bindPositional('dict', { ...args, named: new Map() }, 1);
  const made = new Dict();
  if (from instanceof Dict) for (const [key, value] of from.pairs()) made.set(key, value);
  else if (from !== undefined) {
    for (const pair of iterate(from, context)) {
      const [key, value, ...more] = listOf(pair, context);
      if (key === undefined || value === undefined || more.length > 0) {
        return raise('dictionary update sequence element is no pair');
      }
      made.set(key, value);
    }
  }
  for (const [name, value] of args.named) made.set(Str.written(name), value);
  return made;
}

function namespace(args: Args, context: Context): Namespace {
  const made = new Namespace();
  for (const [key, value] of dict(args, context).pairs())
    made.attributes.set(textOf(key, context).text, value);
  return made;
}

function joiner(args: Args): Builtin {
  const [separator = Str.written(', ')] = args.positional;
  let used = false;
  return new Builtin('joiner', () => {
    if (used) return args.named.get('sep') ?? separator;
    used = true;
    return Str.written('');
  });
}

/**
 * The functions that every template can call, including those of Hugging Face's chat templates. `now` is the time for
 * `strftime_now`.
 */
export function makeGlobals(now: Date): Scope {
  const scope = new Scope();
  const functions: Readonly<Record<string, (args: Args, context: Context) => Value>> = {
    range,
    dict,
    namespace,
    cycler: ({ positional }) => new Cycler(positional),
    joiner,
    raise_exception(args, context) {
      const [message = null] = bind('raise_exception', args, ['message'], 1);
      throw new JinjaError('rejected', textOf(message, context).text);
    },
    strftime_now(args) {
      const [format] = bind('strftime_now', args, ['format'], 1);
      return Str.written(strftime(now, stringOf(format, 'strftime_now() argument').text));
    },
  };
  for (const [name, run] of Object.entries(functions)) scope.set(name, new Builtin(name, run));
  return scope;
}

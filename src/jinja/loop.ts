import { bindPositional } from './arguments.ts';
import { equals } from './comparison.ts';
import { raise } from './jinja-error.ts';
import type { Str } from './str.ts';
import {
  type Args,
  Builtin,
  Callable,
  type Context,
  PyObject,
  Tuple,
  Undefined,
  type Value,
} from './values.ts';

/** Renders the body of a recursive loop over other values. */
export type Recurse = (values: Value, depth: number) => Str;

/** The variable `loop`: the state of a loop. Values count from 0 unless the name says otherwise. */
export class Loop extends Callable {
  readonly typeName = 'LoopContext';
  readonly #values: Iterator<Value>;
  readonly #recurse: Recurse | undefined;
  readonly #depth: number;
  #known: number | undefined;
  #index = -1;
  #ahead: IteratorResult<Value, unknown> | undefined;
  #rest: Value[] | undefined;
  #current: Value | undefined;
  #before: Value | undefined;
  #last: Tuple | undefined;

  /** `length`: the number of values, if it is known without iterating over them. */
  constructor(values: Iterator<Value>, of: { length: number | undefined; depth: number; recurse?: Recurse }) {
    super();
    this.#values = values;
    this.#known = of.length;
    this.#depth = of.depth;
    this.#recurse = of.recurse;
  }

  /** Advances; returns undefined after the last value. */
  next(): Value | undefined {
    const { done, value } = this.#peek();
    this.#ahead = undefined;
    if (done) return undefined;
    this.#index++;
    this.#before = this.#current;
    this.#current = value as Value;
    return this.#current;
  }

  #peek(): IteratorResult<Value, unknown> {
    this.#ahead ??= this.#take();
    return this.#ahead;
  }

  #take(): IteratorResult<Value, unknown> {
    if (!this.#rest) return this.#values.next();
    const value = this.#rest.shift();
    return value === undefined ? { done: true, value } : { done: false, value };
  }

  #length(): number {
    if (this.#known === undefined) {
      const rest: Value[] = [];
      const ahead = this.#ahead && !this.#ahead.done ? 1 : 0;
      for (let next = this.#values.next(); !next.done; next = this.#values.next()) rest.push(next.value);
      this.#rest = rest;
      this.#known = this.#index + 1 + ahead + rest.length;
    }
    return this.#known;
  }

  override length(): number {
    return this.#length();
  }

  override describe(): string {
    return `<LoopContext ${this.#index + 1}/${this.#length()}>`;
  }

  override attribute(name: string): Value | undefined {
    switch (name) {
      case 'index':
        return BigInt(this.#index + 1);
      case 'index0':
        return BigInt(this.#index);
      case 'revindex':
        return BigInt(this.#length() - this.#index);
      case 'revindex0':
        return BigInt(this.#length() - this.#index - 1);
      case 'first':
        return this.#index === 0;
      case 'last':
        return this.#peek().done === true;
      case 'length':
        return BigInt(this.#length());
      case 'depth':
        return BigInt(this.#depth + 1);
      case 'depth0':
        return BigInt(this.#depth);
      case 'previtem':
        return this.#before === undefined ? new Undefined('there is no previous item') : this.#before;
      case 'nextitem':
        return this.#nextItem();
      case 'cycle':
        return new Builtin('cycle', (args) => this.#cycle(args));
      case 'changed':
        return new Builtin('changed', (args, context) => this.#changed(args, context));
      default:
        return undefined;
    }
  }

  override call(args: Args, _context: Context): Value {
    const [values] = bindPositional('loop', args, 1, 1);
    if (!this.#recurse) raise("The loop must have the 'recursive' marker to be called recursively.");
    return this.#recurse(values as Value, this.#depth + 1);
  }

  #nextItem(): Value {
    const { done, value } = this.#peek();
    return done ? new Undefined('there is no next item') : (value as Value);
  }

  #cycle({ positional }: Args): Value {
    if (positional.length === 0) raise('no items for cycling given');
    return positional[this.#index % positional.length] as Value;
  }

  #changed({ positional }: Args, context: Context): boolean {
    const values = new Tuple(positional);
    if (this.#last && equals(this.#last, values, context)) return false;
    this.#last = values;
    return true;
  }
}

/** Jinja2's `cycler`. */
export class Cycler extends PyObject {
  readonly typeName = 'Cycler';
  readonly #items: readonly Value[];
  #at = 0;

  constructor(items: readonly Value[]) {
    super();
    if (items.length === 0) raise('at least one item has to be provided');
    this.#items = items;
  }

  override attribute(name: string): Value | undefined {
    if (name === 'current') return this.#items[this.#at];
    if (name === 'items') return new Tuple(this.#items);
    if (name === 'next') return new Builtin('next', () => this.#next());
    if (name !== 'reset') return undefined;
    return new Builtin('reset', () => {
      this.#at = 0;
      return null;
    });
  }

  #next(): Value {
    const item = this.#items[this.#at] as Value;
    this.#at = (this.#at + 1) % this.#items.length;
    return item;
  }
}

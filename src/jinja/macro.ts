import { raise } from './jinja-error.ts';
import type { MacroBody } from './nodes.ts';
import { Scope } from './scope.ts';
import { Str } from './str.ts';
import { type Args, Callable, type Context, Dict, Tuple, Undefined, type Value } from './values.ts';

/** What the body of a macro needs for rendering. */
export interface MacroRuntime {
  /** The value of a parameter that was not passed. */
  standard(index: number, scope: Scope): Value;
  render(scope: Scope): Str;
}

/** A macro, or the `caller` of a call block. */
export class Macro extends Callable {
  readonly typeName = 'Macro';
  readonly #name: string | undefined;
  readonly #body: MacroBody;
  readonly #outer: Scope;
  readonly #runtime: MacroRuntime;

  constructor(name: string | undefined, body: MacroBody, outer: Scope, runtime: MacroRuntime) {
    super();
    this.#name = name;
    this.#body = body;
    this.#outer = outer;
    this.#runtime = runtime;
  }

  override call(args: Args, _context: Context): Value {
    const { parameters, reads } = this.#body;
    const scope = new Scope(this.#outer);
    const named = new Map(args.named);
    const missing: number[] = [];
    const isExplicit = parameters.some(({ name }) => name === 'caller');
    for (const [i, { name }] of parameters.entries()) {
      const value = i < args.positional.length ? args.positional[i] : named.get(name);
      if (i >= args.positional.length) named.delete(name);
      if (value === undefined) missing.push(i);
      else scope.set(name, value);
    }
    if (reads.caller && !isExplicit) {
      scope.set('caller', named.get('caller') ?? new Undefined('No caller defined'));
      named.delete('caller');
    }
    this.#setRest(scope, args.positional.slice(parameters.length), named);
    for (const i of missing) {
      const { name } = parameters[i] as { name: string };
      scope.set(name, this.#runtime.standard(i, scope));
    }
    return this.#runtime.render(scope);
  }

  #setRest(scope: Scope, more: readonly Value[], named: ReadonlyMap<string, Value>): void {
    const { parameters, reads } = this.#body;
    const macro = this.#name === undefined ? 'None' : `'${this.#name}'`;
    if (reads.kwargs)
      scope.set('kwargs', new Dict([...named].map(([name, value]) => [Str.written(name), value])));
    else if (named.size > 0) raise(`macro ${macro} takes no keyword argument '${[...named.keys()][0]}'`);
    if (reads.varargs) scope.set('varargs', new Tuple(more));
    else if (more.length > 0) raise(`macro ${macro} takes not more than ${parameters.length} argument(s)`);
  }

  override describe(): string {
    return this.#name === undefined ? '<Macro anonymous>' : `<Macro '${this.#name}'>`;
  }

  override attribute(name: string): Value | undefined {
    const { parameters, reads } = this.#body;
    if (name === 'name') return this.#name === undefined ? null : Str.written(this.#name);
    if (name === 'arguments') return new Tuple(parameters.map((parameter) => Str.written(parameter.name)));
    if (name === 'catch_kwargs') return reads.kwargs;
    if (name === 'catch_varargs') return reads.varargs;
    return name === 'caller' ? reads.caller : undefined;
  }
}

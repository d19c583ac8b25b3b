import type { Budget } from './budget.ts';
import { Evaluator, type Library } from './evaluator.ts';
import { JinjaError, raise } from './jinja-error.ts';
import { Loop, type Recurse } from './loop.ts';
import { Macro } from './macro.ts';
import type { Expression, MacroBody, Statement, Target } from './nodes.ts';
import { Scope } from './scope.ts';
import { type Str, StrBuilder } from './str.ts';
import { textOf } from './text-of.ts';
import { lengthOf, listOf, Namespace, PyObject, Undefined, type Value, valuesOf, iterate } from './values.ts';

/** How a statement ended: it may leave the enclosing loop, or continue with its next iteration. */
type Ending = 'break' | 'continue' | undefined;

type Of<Kind extends Statement['kind']> = Extract<Statement, { kind: Kind }>;

/** Runs the statements of one rendering. */
export class Interpreter {
  readonly #evaluator: Evaluator;
  readonly #budget: Budget;
  readonly #root: Scope;

  /** `variables`: the template's input, which its own variables shadow. */
  constructor(library: Library, budget: Budget, variables: Scope) {
    this.#evaluator = new Evaluator(library, budget);
    this.#budget = budget;
    this.#root = new Scope(variables);
  }

  /** Throws `JinjaError`. */
  run(statements: readonly Statement[]): Str {
    return this.#render(statements, this.#root);
  }

  #render(statements: readonly Statement[], scope: Scope): Str {
    const out = new StrBuilder(this.#budget);
    this.#runAll(statements, scope, out);
    return out.done();
  }

  #runAll(statements: readonly Statement[], scope: Scope, out: StrBuilder): Ending {
    for (const statement of statements) {
      const ending = this.#located(statement, scope, out);
      if (ending) return ending;
    }
    return undefined;
  }

  /** An error is attributed to the innermost statement that raised it. */
  #located(statement: Statement, scope: Scope, out: StrBuilder): Ending {
    this.#budget.enter();
    try {
      const ending = this.#run(statement, scope, out);
      this.#budget.leave();
      return ending;
    } catch (error) {
      if (error instanceof JinjaError) error.line ??= statement.line;
      throw error;
    }
  }

  #run(statement: Statement, scope: Scope, out: StrBuilder): Ending {
    switch (statement.kind) {
      case 'text':
        out.add(statement.text);
        return undefined;
      case 'output':
        out.add(textOf(this.#evaluator.evaluate(statement.value, scope), this.#evaluator));
        return undefined;
      case 'if':
        return this.#if(statement, scope, out);
      case 'for':
        this.#for(statement, scope, out);
        return undefined;
      case 'break':
      case 'continue':
        return statement.kind;
      case 'set':
        this.#assign(statement.target, this.#evaluator.evaluate(statement.value, scope), scope);
        return undefined;
      case 'set block':
        this.#setBlock(statement, scope);
        return undefined;
      case 'macro':
        scope.set(statement.name, this.#macro(statement.name, statement.macro, scope));
        return undefined;
      default:
        return this.#block(statement, scope, out);
    }
  }

  /** Statements whose body has its own scope. */
  #block(
    statement: Of<'with' | 'filter block' | 'call block' | 'generation' | 'block'>,
    scope: Scope,
    out: StrBuilder,
  ): Ending {
    const inner = new Scope(statement.kind === 'block' && !statement.scoped ? this.#root : scope);
    switch (statement.kind) {
      case 'with':
        for (const [target, value] of statement.bindings) {
          this.#assign(target, this.#evaluator.evaluate(value, scope), inner);
        }
        return this.#runAll(statement.body, inner, out);
      case 'filter block': {
        const text = this.#render(statement.body, inner);
        out.add(textOf(this.#evaluator.filterBy(statement.filter, text, scope), this.#evaluator));
        return undefined;
      }
      case 'call block': {
        const caller = this.#macro('caller', statement.macro, scope);
        out.add(textOf(this.#evaluator.call(statement.call, scope, caller), this.#evaluator));
        return undefined;
      }
      case 'generation':
      case 'block':
        out.add(this.#render(statement.body, inner));
        return undefined;
    }
  }

  #if({ branches, otherwise }: Of<'if'>, scope: Scope, out: StrBuilder): Ending {
    for (const { test, body } of branches) {
      if (this.#evaluator.truth(test, scope)) return this.#runAll(body, scope, out);
    }
    return this.#runAll(otherwise, scope, out);
  }

  #setBlock({ target, filter, body }: Of<'set block'>, scope: Scope): void {
    const text = this.#render(body, new Scope(scope));
    this.#assign(target, filter ? this.#evaluator.filterBy(filter, text, scope) : text, scope);
  }

  #for(statement: Of<'for'>, scope: Scope, out: StrBuilder): void {
    const { iterable, recursive } = statement;
    const recurse: Recurse = (values, depth) => {
      const inner = new StrBuilder(this.#budget);
      this.#budget.enter();
      this.#loop(statement, values, scope, inner, { depth, recurse });
      this.#budget.leave();
      return inner.done();
    };
    const values = this.#evaluator.evaluate(iterable, scope);
    this.#loop(statement, values, scope, out, recursive ? { depth: 0, recurse } : { depth: 0 });
  }

  #loop(
    { target, test, body, otherwise }: Of<'for'>,
    values: Value,
    scope: Scope,
    out: StrBuilder,
    how: { depth: number; recurse?: Recurse },
  ): void {
    const items = test ? this.#filtered(values, target, test, scope) : iterate(values, this.#evaluator);
    if (!valuesOf(values, this.#evaluator)) items.next();
    const loop = new Loop(items, { ...how, length: test ? undefined : this.#knownLength(values) });
    let completed = false;
    for (let item = loop.next(); item !== undefined; item = loop.next()) {
      const inner = new Scope(scope);
      inner.set('loop', loop);
      this.#assign(target, item, inner);
      const ending = this.#runAll(body, inner, out);
      if (ending === 'break') break;
      // As in Python's Jinja2, an iteration that ended with `continue` does not prevent `else` from running.
      if (ending === undefined) completed = true;
    }
    if (!completed && otherwise.length > 0) this.#runAll(otherwise, new Scope(scope), out);
  }

  #knownLength(values: Value): number | undefined {
    const isSized = !(values instanceof PyObject) || values.length(this.#evaluator) !== undefined;
    return isSized ? lengthOf(values, this.#evaluator) : undefined;
  }

  *#filtered(values: Value, target: Target, test: Expression, scope: Scope): IterableIterator<Value> {
    for (const item of iterate(values, this.#evaluator)) {
      const inner = new Scope(scope);
      this.#assign(target, item, inner);
      if (this.#evaluator.truth(test, inner)) yield item;
    }
  }

  #assign(target: Target, value: Value, scope: Scope): void {
    if (target.kind === 'name') scope.set(target.name, value);
    else if (target.kind === 'tuple') this.#unpack(target.items, value, scope);
    else {
      const namespace = scope.get(target.name);
      if (!(namespace instanceof Namespace)) raise('cannot assign attribute on non-namespace object');
      namespace.attributes.set(target.attribute, value);
    }
  }

  #unpack(targets: readonly Target[], value: Value, scope: Scope): void {
    if (value instanceof Undefined || valuesOf(value, this.#evaluator) !== undefined) {
      const values = listOf(value, this.#evaluator);
      if (values.length > targets.length) raise(`too many values to unpack (expected ${targets.length})`);
      if (values.length < targets.length) {
        raise(`not enough values to unpack (expected ${targets.length}, got ${values.length})`);
      }
      for (const [i, target] of targets.entries()) this.#assign(target, values[i] as Value, scope);
    } else raise('cannot unpack non-iterable object');
  }

  #macro(name: string, body: MacroBody, scope: Scope): Macro {
    return new Macro(name, body, scope, {
      standard: (index, inner) => {
        const { name: parameter, standard } = body.parameters[index] as MacroBody['parameters'][number];
        if (!standard) return new Undefined(`parameter '${parameter}' was not provided`);
        return this.#evaluator.evaluate(standard, inner);
      },
      render: (inner) => {
        this.#budget.enter();
        const text = this.#render(body.body, inner);
        this.#budget.leave();
        return text;
      },
    });
  }
}

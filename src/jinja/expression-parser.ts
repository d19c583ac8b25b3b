import type { Arguments, BinaryOperator, Comparison, Expression } from './nodes.ts';
import { Str } from './str.ts';
import { describe, type TokenStream } from './token-stream.ts';

const COMPARISONS: ReadonlySet<string> = new Set(['==', '!=', '<', '<=', '>', '>=']);
const CONSTANTS: ReadonlyMap<string, boolean | null> = new Map([
  ['true', true],
  ['True', true],
  ['false', false],
  ['False', false],
  ['none', null],
  ['None', null],
]);
/** Tokens that can start the argument of a test without parentheses. */
const ARGUMENT_KINDS: ReadonlySet<string> = new Set(['name', 'string', 'integer', 'float']);

/** The names of the known filters and tests. */
export interface KnownNames {
  readonly filters: { has(name: string): boolean };
  readonly tests: { has(name: string): boolean };
}

/** Parses expressions with Jinja2's precedence: from `if … else` down to primaries. Throws `JinjaError`. */
export class ExpressionParser {
  /** Names read so far, for callers that need them. */
  readonly namesRead = new Set<string>();
  /** Whether an unknown filter or test is an error only when it is reached: in conditionally evaluated code. */
  lenient = false;
  /** Unknown filters and tests, outside of conditionally evaluated code. */
  readonly unknown: { readonly message: string; readonly line: number }[] = [];
  readonly #stream: TokenStream;
  readonly #known: KnownNames;

  constructor(stream: TokenStream, known: KnownNames) {
    this.#stream = stream;
    this.#known = known;
  }

  /** One expression. */
  expression(withCondition = true): Expression {
    return this.#stream.nested(() => (withCondition ? this.#condition() : this.#or()));
  }

  /** One expression, or a tuple of several separated by commas. `ends`: a name that ends it. */
  tuple(options: { withCondition?: boolean; ends?: string; parenthesized?: boolean } = {}): Expression {
    const { withCondition = true, ends, parenthesized = false } = options;
    return this.#tuple(() => this.expression(withCondition), ends, parenthesized);
  }

  /** The operand before `=` or `in`: primaries, separated by commas as a tuple. */
  primaries(ends?: string): Expression {
    return this.#tuple(() => this.#stream.nested(() => this.#primary()), ends, false);
  }

  /** A chain of filters; the first is applied to `value`. `inline`: the first has no bar before it. */
  filters(value: Expression | undefined, inline = false): Expression | undefined {
    let filtered = value;
    for (let bare = inline; bare || this.#stream.isOperator('|'); bare = false) {
      if (!bare) this.#stream.next();
      filtered = this.#filter(filtered);
    }
    return filtered;
  }

  #tuple(parse: () => Expression, ends: string | undefined, parenthesized: boolean): Expression {
    const stream = this.#stream;
    const { line } = stream.current;
    const items: Expression[] = [];
    let isTuple = false;
    for (;;) {
      if (items.length > 0) stream.expectOperator(',');
      const { kind } = stream.current;
      if (kind === 'close' || stream.isOperator(')') || (ends !== undefined && stream.isName(ends))) break;
      items.push(parse());
      if (!stream.isOperator(',')) break;
      isTuple = true;
    }
    const [only] = items;
    if (!isTuple && only) return only;
    if (!isTuple && !parenthesized) stream.fail(`Expected an expression, got '${describe(stream.current)}'`);
    return { kind: 'tuple', items, line };
  }

  #condition(): Expression {
    const { line } = this.#stream.current;
    const before = this.unknown.length;
    let value = this.#or();
    while (this.#stream.skipName('if')) {
      const test = this.#or();
      const otherwise = this.#stream.skipName('else')
        ? this.#stream.nested(() => this.#condition())
        : undefined;
      value = { kind: 'condition', test, value, otherwise, line };
      this.unknown.length = before;
    }
    return value;
  }

  #or(): Expression {
    const { line } = this.#stream.current;
    let left = this.#and();
    while (this.#stream.skipName('or')) left = { kind: 'or', left, right: this.#and(), line };
    return left;
  }

  #and(): Expression {
    const { line } = this.#stream.current;
    let left = this.#not();
    while (this.#stream.skipName('and')) left = { kind: 'and', left, right: this.#not(), line };
    return left;
  }

  #not(): Expression {
    const { line } = this.#stream.current;
    if (!this.#stream.skipName('not')) return this.#compare();
    return { kind: 'not', operand: this.#stream.nested(() => this.#not()), line };
  }

  #compare(): Expression {
    const { line } = this.#stream.current;
    const first = this.#sum();
    const rest: [Comparison, Expression][] = [];
    for (let how = this.#comparison(); how; how = this.#comparison()) rest.push([how, this.#sum()]);
    return rest.length === 0 ? first : { kind: 'compare', first, rest, line };
  }

  #comparison(): Comparison | undefined {
    const stream = this.#stream;
    const { kind, text } = stream.current;
    if (kind === 'operator' && COMPARISONS.has(text)) return stream.next().text as Comparison;
    if (stream.skipName('in')) return 'in';
    if (!stream.isName('not') || stream.following.kind !== 'name' || stream.following.text !== 'in')
      return undefined;
    stream.next();
    stream.next();
    return 'not in';
  }

  #sum(): Expression {
    return this.#leftToRight(['+', '-'], () => this.#concat());
  }

  #concat(): Expression {
    const { line } = this.#stream.current;
    const first = this.#product();
    if (!this.#stream.isOperator('~')) return first;
    const items = [first];
    while (this.#stream.skipOperator('~')) items.push(this.#product());
    return { kind: 'concat', items, line };
  }

  #product(): Expression {
    return this.#leftToRight(['*', '/', '//', '%'], () => this.#power());
  }

  #power(): Expression {
    return this.#leftToRight(['**'], () => this.#unary(true));
  }

  #leftToRight(operators: readonly BinaryOperator[], operand: () => Expression): Expression {
    const { line } = this.#stream.current;
    let left = operand();
    for (;;) {
      const operator = operators.find((one) => this.#stream.isOperator(one));
      if (operator === undefined) return left;
      this.#stream.next();
      left = { kind: 'binary', operator, left, right: operand(), line };
    }
  }

  #unary(withFilters: boolean): Expression {
    const { line } = this.#stream.current;
    let value: Expression;
    if (this.#stream.skipOperator('-')) value = { kind: 'negative', operand: this.#operand(), line };
    else if (this.#stream.skipOperator('+')) value = { kind: 'positive', operand: this.#operand(), line };
    else value = this.#primary();
    value = this.#postfix(value);
    return withFilters ? this.#filtersAndTests(value) : value;
  }

  #operand(): Expression {
    return this.#stream.nested(() => this.#unary(false));
  }

  #primary(): Expression {
    const { kind, text, line } = this.#stream.current;
    if (kind === 'name') {
      this.#stream.next();
      const constant = CONSTANTS.get(text);
      if (constant !== undefined) return { kind: 'constant', value: constant, line };
      this.namesRead.add(text);
      return { kind: 'name', name: text, line };
    }
    if (kind === 'string') return this.#strings(line);
    if (kind === 'integer' || kind === 'float') {
      this.#stream.next();
      return { kind: 'constant', value: kind === 'integer' ? BigInt(text) : Number(text), line };
    }
    if (this.#stream.skipOperator('(')) {
      const inner = this.tuple({ parenthesized: true });
      this.#stream.expectOperator(')');
      return inner;
    }
    if (this.#stream.skipOperator('[')) return { kind: 'list', items: this.#items(']'), line };
    if (this.#stream.skipOperator('{')) return this.#dict(line);
    return this.#stream.fail(`unexpected '${describe(this.#stream.current)}'`);
  }

  #strings(line: number): Expression {
    let text = '';
    while (this.#stream.current.kind === 'string') text += this.#stream.next().text;
    return { kind: 'constant', value: Str.written(text), line };
  }

  #items(end: string): Expression[] {
    const items: Expression[] = [];
    while (!this.#stream.isOperator(end)) {
      if (items.length > 0) this.#stream.expectOperator(',');
      if (this.#stream.isOperator(end)) break;
      items.push(this.expression());
    }
    this.#stream.expectOperator(end);
    return items;
  }

  #dict(line: number): Expression {
    const pairs: [Expression, Expression][] = [];
    while (!this.#stream.isOperator('}')) {
      if (pairs.length > 0) this.#stream.expectOperator(',');
      if (this.#stream.isOperator('}')) break;
      const key = this.expression();
      this.#stream.expectOperator(':');
      pairs.push([key, this.expression()]);
    }
    this.#stream.expectOperator('}');
    return { kind: 'dict', pairs, line };
  }

  /** Attributes, items and calls. */
  #postfix(value: Expression): Expression {
    let result = value;
    for (;;) {
      if (this.#stream.isOperator('.')) result = this.#attribute(result);
      else if (this.#stream.isOperator('[')) result = this.#item(result);
      else if (this.#stream.isOperator('(')) result = this.#call(result);
      else return result;
    }
  }

  #attribute(object: Expression): Expression {
    const { line } = this.#stream.next();
    const { kind, text } = this.#stream.next();
    if (kind === 'name') return { kind: 'attribute', object, name: text, line };
    if (kind !== 'integer') this.#stream.fail('expected name or number');
    return { kind: 'item', object, index: { kind: 'constant', value: BigInt(text), line }, line };
  }

  #item(object: Expression): Expression {
    const { line } = this.#stream.next();
    const indices: Expression[] = [];
    while (!this.#stream.isOperator(']')) {
      if (indices.length > 0) this.#stream.expectOperator(',');
      indices.push(this.#subscript());
    }
    this.#stream.expectOperator(']');
    const [only] = indices;
    const index: Expression = indices.length === 1 && only ? only : { kind: 'tuple', items: indices, line };
    return { kind: 'item', object, index, line };
  }

  #subscript(): Expression {
    const stream = this.#stream;
    const { line } = stream.current;
    const atEnd = () => stream.isOperator(']') || stream.isOperator(',');
    const start = stream.isOperator(':') ? undefined : this.expression();
    if (start && !stream.isOperator(':')) return start;
    stream.expectOperator(':');
    const stop = stream.isOperator(':') || atEnd() ? undefined : this.expression();
    const step = stream.skipOperator(':') && !atEnd() ? this.expression() : undefined;
    return { kind: 'slice', start, stop, step, line };
  }

  #call(callee: Expression): Expression {
    const { line } = this.#stream.current;
    return { kind: 'call', callee, args: this.#arguments(), line };
  }

  #filtersAndTests(value: Expression): Expression {
    let result = value;
    for (;;) {
      if (this.#stream.skipOperator('|')) result = this.#filter(result);
      else if (this.#stream.isName('is')) result = this.#test(result);
      else if (this.#stream.isOperator('(')) result = this.#call(result);
      else return result;
    }
  }

  #dottedName(): string {
    let name = this.#stream.expectName().text;
    while (this.#stream.skipOperator('.')) name += `.${this.#stream.expectName().text}`;
    return name;
  }

  #filter(value: Expression | undefined): Expression {
    const { line } = this.#stream.current;
    const name = this.#dottedName();
    const args = this.#stream.isOperator('(') ? this.#arguments() : NO_ARGUMENTS;
    if (!this.#known.filters.has(name)) this.#note(`No filter named '${name}'.`, line);
    return { kind: 'filter', value, name, args, line };
  }

  #test(value: Expression): Expression {
    const { line } = this.#stream.next();
    const negated = this.#stream.skipName('not');
    const name = this.#dottedName();
    const args = this.#testArguments();
    if (!this.#known.tests.has(name)) this.#note(`No test named '${name}'.`, line);
    const test: Expression = { kind: 'test', value, name, args, line };
    return negated ? { kind: 'not', operand: test, line } : test;
  }

  #note(message: string, line: number): void {
    if (!this.lenient) this.unknown.push({ message, line });
  }

  #testArguments(): Arguments {
    const stream = this.#stream;
    if (stream.isOperator('(')) return this.#arguments();
    const { kind, text } = stream.current;
    const begins = ARGUMENT_KINDS.has(kind) || stream.isOperator('[') || stream.isOperator('{');
    if (!begins || (kind === 'name' && ['else', 'or', 'and'].includes(text))) return NO_ARGUMENTS;
    if (stream.isName('is')) stream.fail('You cannot chain multiple tests with is');
    return { ...NO_ARGUMENTS, positional: [this.#postfix(this.#primary())] };
  }

  #arguments(): Arguments {
    const stream = this.#stream;
    const { line } = stream.expectOperator('(');
    const positional: Expression[] = [];
    const named: [string, Expression][] = [];
    let more: Expression | undefined;
    let moreNamed: Expression | undefined;
    const ensure = (fits: boolean) =>
      fits || stream.fail('invalid syntax for function call expression', line);
    for (let comma = false; !stream.isOperator(')'); comma = true) {
      if (comma) stream.expectOperator(',');
      if (stream.isOperator(')')) break;
      if (stream.skipOperator('*')) {
        ensure(!more && !moreNamed);
        more = this.expression();
      } else if (stream.skipOperator('**')) {
        ensure(!moreNamed);
        moreNamed = this.expression();
      } else if (stream.current.kind === 'name' && this.#isAssigned()) {
        ensure(!moreNamed);
        const name = stream.next().text;
        stream.next();
        named.push([name, this.expression()]);
      } else {
        ensure(!more && !moreNamed && named.length === 0);
        positional.push(this.expression());
      }
    }
    stream.expectOperator(')');
    return { positional, named, more, moreNamed };
  }

  #isAssigned(): boolean {
    const { kind, text } = this.#stream.following;
    return kind === 'operator' && text === '=';
  }
}

const NO_ARGUMENTS: Arguments = { positional: [], named: [], more: undefined, moreNamed: undefined };

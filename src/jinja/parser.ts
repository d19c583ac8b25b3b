import { ExpressionParser, type KnownNames } from './expression-parser.ts';
import type { Expression, MacroBody, Parameter, Statement, Target } from './nodes.ts';
import { Str } from './str.ts';
import { TokenStream } from './token-stream.ts';

/** Tags that refer to other templates, which chat templates do not have. */
const OTHER_TEMPLATES: ReadonlySet<string> = new Set(['include', 'import', 'from', 'extends']);

/** Parses a template. Throws `JinjaError` of kind `syntax`. */
export function parseTemplate(source: string, known: KnownNames): Statement[] {
  return new Parser(new TokenStream(source), known).template();
}

class Parser {
  readonly #stream: TokenStream;
  readonly #expressions: ExpressionParser;
  #loops = 0;
  /** Number of assignments to `loop` so far. */
  #loopStores = 0;
  readonly #blocks = new Set<string>();

  constructor(stream: TokenStream, known: KnownNames) {
    this.#stream = stream;
    this.#expressions = new ExpressionParser(stream, known);
  }

  template(): Statement[] {
    const statements = this.#statements([]);
    const [unknown] = this.#expressions.unknown;
    if (unknown) this.#stream.fail(unknown.message, unknown.line);
    return statements;
  }

  /** Statements up to one of the given end tags, whose name is then the current token. */
  #statements(ends: readonly string[]): Statement[] {
    const stream = this.#stream;
    const statements: Statement[] = [];
    for (;;) {
      const { kind, text, line } = stream.current;
      if (kind === 'end') {
        if (ends.length > 0) this.#unclosed(ends);
        return statements;
      }
      stream.next();
      if (kind === 'data') statements.push({ kind: 'text', text: Str.written(text), line });
      else if (text === '{{') {
        statements.push({ kind: 'output', value: this.#expressions.tuple(), line });
        stream.expectClose();
      } else {
        if (stream.current.kind === 'name' && ends.includes(stream.current.text)) return statements;
        statements.push(...stream.nested(() => this.#statement()));
        stream.expectClose();
      }
    }
  }

  /** The statements of a block up to its end, and the name of the end tag, which has been consumed. */
  #body(...ends: string[]): { body: Statement[]; end: string } {
    this.#stream.skipOperator(':');
    this.#stream.expectClose();
    const body = this.#statements(ends);
    return { body, end: this.#stream.next().text };
  }

  /** A body with its own scope, in which unknown filters are errors again. */
  #ownBody(...ends: string[]): { body: Statement[]; end: string } {
    return this.#leniently(false, () => this.#body(...ends));
  }

  #leniently<T>(lenient: boolean, parse: () => T): T {
    const before = this.#expressions.lenient;
    this.#expressions.lenient = lenient;
    const parsed = parse();
    this.#expressions.lenient = before;
    return parsed;
  }

  #statement(): Statement[] {
    const { kind, text: tag, line } = this.#stream.current;
    if (kind !== 'name') this.#stream.fail('tag name expected');
    this.#stream.next();
    if (tag === 'if') return [this.#if(line)];
    if (tag === 'for') return [this.#for(line)];
    if (tag === 'set') return [this.#set(line)];
    if (tag === 'macro')
      return [{ kind: 'macro', name: this.#stream.expectName().text, macro: this.#macro('endmacro'), line }];
    if (tag === 'call') return [this.#callBlock(line)];
    if (tag === 'with') return [this.#with(line)];
    if (tag === 'filter') return [this.#filterBlock(line)];
    if (tag === 'block') return [this.#block(line)];
    if (tag === 'print') return this.#print();
    if (tag === 'generation') return [{ kind: 'generation', ...this.#ownBody('endgeneration'), line }];
    if (tag === 'break' || tag === 'continue') return [this.#leaveLoop(tag, line)];
    if (tag === 'autoescape')
      this.#stream.fail('{% autoescape %} is not supported: a prompt is not HTML', line);
    if (OTHER_TEMPLATES.has(tag)) {
      this.#stream.fail(`{% ${tag} %} is not supported: a chat template stands alone`, line);
    }
    return this.#stream.fail(`Encountered unknown tag '${tag}'.`, line);
  }

  #leaveLoop(kind: 'break' | 'continue', line: number): Statement {
    if (this.#loops === 0) this.#stream.fail(`'${kind}' outside loop`, line);
    return { kind, line };
  }

  #if(line: number): Statement {
    return this.#leniently(true, () => {
      const branches: { test: Expression; body: Statement[] }[] = [];
      for (;;) {
        const test = this.#expressions.tuple({ withCondition: false });
        const { body, end } = this.#body('elif', 'else', 'endif');
        branches.push({ test, body });
        if (end === 'elif') continue;
        const otherwise = end === 'else' ? this.#body('endif').body : [];
        return { kind: 'if', branches, otherwise, line };
      }
    });
  }

  #for(line: number): Statement {
    const stream = this.#stream;
    const stores = this.#loopStores;
    const target = this.#target('in');
    stream.expectName('in');
    const iterable = this.#expressions.tuple({ withCondition: false, ends: 'recursive' });
    const test = stream.skipName('if')
      ? this.#leniently(false, () => this.#expressions.expression())
      : undefined;
    const recursive = stream.skipName('recursive');
    this.#loops++;
    const { body, end } = this.#ownBody('endfor', 'else');
    this.#loops--;
    const otherwise = end === 'else' ? this.#ownBody('endfor').body : [];
    if (this.#loopStores > stores) stream.fail("Can't assign to special loop variable in for-loop", line);
    return { kind: 'for', target, iterable, test, recursive, body, otherwise, line };
  }

  #set(line: number): Statement {
    const stream = this.#stream;
    const { kind, text } = stream.following;
    const target = kind === 'operator' && text === '.' ? this.#namespaceTarget() : this.#target();
    if (stream.skipOperator('=')) return { kind: 'set', target, value: this.#expressions.tuple(), line };
    const filter = this.#expressions.filters(undefined);
    return { kind: 'set block', target, filter, ...this.#ownBody('endset'), line };
  }

  #namespaceTarget(): Target {
    const name = this.#stream.expectName().text;
    this.#stream.next();
    return { kind: 'namespace', name, attribute: this.#stream.expectName().text };
  }

  #target(ends?: string): Target {
    return this.#asTarget(this.#expressions.primaries(ends));
  }

  #asTarget(expression: Expression): Target {
    if (expression.kind === 'name') {
      if (expression.name === 'loop') this.#loopStores++;
      return { kind: 'name', name: expression.name };
    }
    if (expression.kind === 'tuple' || expression.kind === 'list') {
      return { kind: 'tuple', items: expression.items.map((item) => this.#asTarget(item)) };
    }
    return this.#stream.fail(`can't assign to '${expression.kind}'`, expression.line);
  }

  #with(line: number): Statement {
    const bindings: [Target, Expression][] = [];
    const stores = this.#loopStores;
    while (this.#stream.current.kind !== 'close') {
      if (bindings.length > 0) this.#stream.expectOperator(',');
      const target = this.#target();
      this.#stream.expectOperator('=');
      bindings.push([target, this.#expressions.expression()]);
    }
    this.#loopStores = stores;
    return { kind: 'with', bindings, ...this.#ownBody('endwith'), line };
  }

  #filterBlock(line: number): Statement {
    const filter = this.#expressions.filters(undefined, true) as Expression;
    return { kind: 'filter block', filter, ...this.#ownBody('endfilter'), line };
  }

  #block(line: number): Statement {
    const name = this.#stream.expectName().text;
    if (this.#blocks.has(name)) this.#stream.fail(`block '${name}' defined twice`, line);
    this.#blocks.add(name);
    const scoped = this.#stream.skipName('scoped');
    if (this.#stream.isName('required')) this.#stream.fail('a required block has nothing to be replaced by');
    const { body } = this.#ownBody('endblock');
    this.#stream.skipName(name);
    return { kind: 'block', name, scoped, body, line };
  }

  #print(): Statement[] {
    const printed: Statement[] = [];
    while (this.#stream.current.kind !== 'close') {
      if (printed.length > 0) this.#stream.expectOperator(',');
      const { line } = this.#stream.current;
      printed.push({ kind: 'output', value: this.#expressions.expression(), line });
    }
    return printed;
  }

  #callBlock(line: number): Statement {
    const stream = this.#stream;
    const parameters = stream.isOperator('(') ? this.#parameters() : [];
    const call = this.#expressions.expression();
    if (call.kind !== 'call') stream.fail('expected call', line);
    return { kind: 'call block', call, macro: this.#macroBody(parameters, 'endcall'), line };
  }

  #macro(end: string): MacroBody {
    return this.#leniently(false, () => this.#macroBody(this.#parameters(), end));
  }

  /** Names read in the body are tracked separately from those around it. */
  #macroBody(parameters: Parameter[], end: string): MacroBody {
    const { namesRead } = this.#expressions;
    const outside = new Set(namesRead);
    namesRead.clear();
    const loops = this.#loops;
    this.#loops = 0;
    const { body } = this.#ownBody(end);
    this.#loops = loops;
    const reads = (name: string) => namesRead.has(name);
    const read = { varargs: reads('varargs'), kwargs: reads('kwargs'), caller: reads('caller') };
    for (const name of outside) namesRead.add(name);
    return { parameters, body, reads: read };
  }

  #parameters(): Parameter[] {
    const stream = this.#stream;
    const parameters: Parameter[] = [];
    stream.expectOperator('(');
    while (!stream.isOperator(')')) {
      if (parameters.length > 0) stream.expectOperator(',');
      const name = stream.expectName().text;
      if (parameters.some((other) => other.name === name)) {
        stream.fail(`duplicate argument '${name}' in function definition`);
      }
      const standard = stream.skipOperator('=') ? this.#expressions.expression() : undefined;
      if (!standard && parameters.at(-1)?.standard) {
        stream.fail('non-default argument follows default argument');
      }
      parameters.push({ name, standard });
    }
    stream.expectOperator(')');
    return parameters;
  }

  #unclosed(ends: readonly string[]): never {
    const looked = ends.map((end) => `'${end}'`).join(' or ');
    return this.#stream.fail(
      `Unexpected end of template. Jinja was looking for the following tags: ${looked}.`,
    );
  }
}

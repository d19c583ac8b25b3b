import { fail } from '../../base/errors.ts';
import type { Grammar, Rule } from '../grammar.ts';
import type { Language } from '../regex/language-kinds.ts';
import { checkCounts } from '../regex/regex-compiler.ts';
import type { RegularLanguages } from '../regex/regular-languages.ts';
import { bytesOf } from '../regex/text-bytes.ts';
import { rulesInOrder } from './rule-order.ts';
import { RuleBuilder } from './rule-builder.ts';
import type { RuleTables, Symbol, TokenNames } from './rule-tables.ts';

const DEEPEST = 500;
/** Rules that are regular languages of at most this depth are inlined where they are used. */
const DEEPEST_INLINE = 24;

/** A compiled rule: a regular language or a symbol. */
type Made = { readonly language: Language } | { readonly symbol: Symbol };

/**
 * Compiles a grammar to tables. Regular parts are merged into single terminals as far as possible: sequences,
 * alternatives, repetitions, and referenced rules unless they are recursive.
 */
export class RuleCompiler {
  readonly #regular: RegularLanguages;
  readonly #tokens: TokenNames;
  readonly #builder: RuleBuilder;
  readonly #grammars = new Map<Grammar, Symbol>();
  readonly #laters = new Map<Rule, Symbol>();
  #depth = 0;

  constructor(regular: RegularLanguages, tokens: TokenNames) {
    this.#regular = regular;
    this.#tokens = tokens;
    this.#builder = new RuleBuilder(regular);
  }

  /** Throws `GRAMMAR_INVALID` for missing or malformed rules, and for a grammar that matches no text. */
  compile(grammar: Grammar): RuleTables {
    return this.#builder.finish(this.#grammar(grammar));
  }

  #grammar(grammar: Grammar): Symbol {
    const known = this.#grammars.get(grammar);
    if (known !== undefined) return known;
    const root = this.#builder.open();
    this.#grammars.set(grammar, root);
    const scope = new Map<string, Made>();
    const open = new Map<string, Symbol>();
    for (const [name, rule] of rulesInOrder(grammar)) {
      const made = this.#rule(rule, (other) => this.#named(grammar, scope, open, other));
      const symbol = open.get(name);
      if (symbol !== undefined) this.#builder.close(symbol, [[this.#symbolOf(made)]]);
      const isInline = 'symbol' in made || this.#regular.languages.depthOf(made.language) <= DEEPEST_INLINE;
      if (symbol === undefined) scope.set(name, isInline ? made : { symbol: this.#symbolOf(made) });
    }
    this.#builder.close(root, [[this.#symbolOf(this.#named(grammar, scope, open, grammar.root))]]);
    return root;
  }

  /** The rule with this name: the compiled one, or a symbol that is completed once the rule is. */
  #named(grammar: Grammar, scope: ReadonlyMap<string, Made>, open: Map<string, Symbol>, name: string): Made {
    const made = scope.get(name);
    if (made) return made;
    if (!grammar.rules.has(name))
      fail('GRAMMAR_INVALID', { reason: `there is no rule named ${JSON.stringify(name)}` });
    const symbol = open.get(name) ?? this.#builder.open();
    open.set(name, symbol);
    return { symbol };
  }

  #rule(rule: Rule, named: (name: string) => Made): Made {
    const { languages } = this.#regular;
    languages.fuel.spend(1);
    if (++this.#depth > DEEPEST) languages.fuel.refuse(`it is nested more than ${DEEPEST} deep`);
    try {
      switch (rule.kind) {
        case 'regex':
          return { language: this.#regular.compiler.compile(rule.regex) };
        case 'distinct':
          return { symbol: this.#distinct(this.#regular.compiler.compile(rule.regex)) };
        case 'token':
          return this.#token(rule.text);
        case 'token-id':
          return { symbol: this.#builder.terminal({ kind: 'token', id: this.#checked(rule.id) }) };
        case 'any-token': {
          const except = new Set(rule.except.map((token) => this.#tokenIn(token)));
          return { symbol: this.#builder.terminal({ kind: 'any-token', except }) };
        }
        case 'sequence':
          return this.#sequence(rule.parts.map((part) => this.#rule(part, named)));
        case 'choice':
          return this.#choice(rule.parts.map((part) => this.#rule(part, named)));
        case 'repeat':
          checkCounts(rule.min, rule.max);
          return this.#repeat(this.#rule(rule.part, named), rule.min, rule.max);
        case 'reference':
          return named(rule.name);
        case 'grammar':
          return { symbol: this.#grammar(rule.grammar) };
        case 'later':
          return { symbol: this.#later(rule) };
        case 'members':
          return { symbol: this.#members(rule, named) };
        case 'scope':
          return { symbol: this.#builder.scope(this.#symbolOf(this.#rule(rule.part, named))) };
      }
    } finally {
      this.#depth--;
    }
  }

  #later(rule: Extract<Rule, { readonly kind: 'later' }>): Symbol {
    let symbol = this.#laters.get(rule);
    if (symbol === undefined) {
      symbol = this.#builder.later(() => this.#grammar(rule.grammar()));
      this.#laters.set(rule, symbol);
    }
    return symbol;
  }

  #members(rule: Extract<Rule, { readonly kind: 'members' }>, named: (name: string) => Made): Symbol {
    checkCounts(rule.min, rule.max);
    const made = new Map<Rule, Symbol>();
    const symbolOf = (part: Rule): Symbol => {
      if (part.kind === 'later') return this.#later(part);
      let symbol = made.get(part);
      if (symbol === undefined) {
        symbol = this.#symbolOf(this.#rule(part, named));
        made.set(part, symbol);
      }
      return symbol;
    };
    const { members, min, max } = rule;
    this.#regular.languages.fuel.spend(members.length);
    const values = members.map(({ value }) => symbolOf(value));
    const other = rule.other && symbolOf(rule.other);
    return this.#builder.members({ members, values, other, separator: symbolOf(rule.separator), min, max });
  }

  #distinct(language: Language): Symbol {
    if (this.#regular.languages.isNullable(language)) {
      fail('GRAMMAR_INVALID', { reason: 'a distinct part may be empty, of which there could not be two' });
    }
    return this.#builder.terminal({ kind: 'distinct', language });
  }

  #token(text: string): Made {
    const id = this.#tokens.specialToken(text);
    if (id === undefined) return { language: this.#regular.languages.literal(bytesOf(text)) };
    return { symbol: this.#builder.terminal({ kind: 'token', id }) };
  }

  #tokenIn(token: string | number): number {
    if (typeof token === 'number') return this.#checked(token);
    const id = this.#tokens.specialToken(token);
    if (id !== undefined) return id;
    return fail('GRAMMAR_INVALID', {
      reason: `no token of the vocabulary is spelled ${JSON.stringify(token)}`,
    });
  }

  #checked(id: number): number {
    const { size } = this.#tokens;
    if (Number.isInteger(id) && id >= 0 && id < size) return id;
    return fail('GRAMMAR_INVALID', { reason: `it names token ${id} of a vocabulary with ${size} tokens` });
  }

  #sequence(parts: readonly Made[]): Made {
    const { languages } = this.#regular;
    const joined: Made[] = [];
    for (const part of parts) {
      const last = joined.at(-1);
      if ('language' in part && last && 'language' in last) {
        joined[joined.length - 1] = { language: languages.concat(last.language, part.language) };
      } else {
        joined.push(part);
      }
    }
    if (joined.length === 1) return joined[0] as Made;
    if (joined.length === 0) return { language: languages.empty };
    return this.#closed([joined.map((part) => this.#symbolOf(part))]);
  }

  #choice(parts: readonly Made[]): Made {
    const { languages } = this.#regular;
    const regular = parts.flatMap((part) => ('language' in part ? [part.language] : []));
    const symbols = parts.flatMap((part) => ('language' in part ? [] : [part.symbol]));
    const language = languages.or(regular);
    if (symbols.length === 0) return { language };
    const alternatives = symbols.map((symbol) => [symbol]);
    if (regular.length > 0) alternatives.push([this.#symbolOf({ language })]);
    return alternatives.length === 1 ? { symbol: symbols[0] as Symbol } : this.#closed(alternatives);
  }

  #repeat(part: Made, min: number, max: number): Made {
    if ('language' in part) return { language: this.#regular.languages.repeat(part.language, min, max) };
    if (min === 1 && max === 1) return part;
    return { symbol: this.#builder.repeat(part.symbol, min, max) };
  }

  #closed(productions: readonly (readonly Symbol[])[]): Made {
    const symbol = this.#builder.open();
    this.#builder.close(symbol, productions);
    return { symbol };
  }

  #symbolOf(made: Made): Symbol {
    if ('symbol' in made) return made.symbol;
    return this.#builder.terminal({ kind: 'regex', language: made.language });
  }
}

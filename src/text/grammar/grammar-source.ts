import type { CompiledGrammar, GrammarCompiler, StructuralTagFormat } from '@mlc-ai/web-xgrammar';
import { fail } from '../../base/errors.ts';
import { byteCharacters } from '../byte-alphabet.ts';
import type { Tokenizer } from '../tokenizer.ts';
import type { GrammarRealm, OpenGrammarRealm } from './grammar-realm.ts';
import type { TokenConstraint } from './token-constraint.ts';

export type { StructuralTagFormat } from '@mlc-ai/web-xgrammar';

/** What a text must be: any JSON object, JSON of a schema, or text with tagged parts. */
export type Grammar =
  | { readonly kind: 'json' }
  | { readonly kind: 'schema'; readonly schema: unknown }
  | { readonly kind: 'tags'; readonly format: StructuralTagFormat };

/** Longest description of a grammar in UTF-16 units, and how deeply it may be nested: both cost time and stack. */
const LONGEST = 128 * 1024;
const DEEPEST = 64;
/** Compiled grammars that are kept for the next request. */
const MOST_COMPILED = 64;

/** Spaces and line ends between two parts of JSON: a model that is lost in them finds out again. */
const MOST_WHITESPACE = 8;

const ANY_OBJECT = JSON.stringify({ type: 'object' });

/** The library, started, with a compiler in it. */
interface Instance {
  readonly realm: GrammarRealm;
  readonly compiler: GrammarCompiler;
}

/**
 * Compiles grammars for one tokenizer. A description is tried out in an instance of the library of its own first, so that
 * one that the library cannot take ends nobody else's generation.
 */
export class GrammarSource {
  readonly #tokenizer: Tokenizer;
  readonly #vocabulary: number;
  readonly #open: OpenGrammarRealm;
  readonly #compiled = new Map<string, Promise<CompiledGrammar>>();
  #main: Promise<Instance> | undefined;
  #trial: Promise<Instance> | undefined;

  /** `vocabulary` counts the logits of a position; ids beyond the tokenizer's are never allowed. */
  constructor(tokenizer: Tokenizer, vocabulary: number, open: OpenGrammarRealm) {
    this.#tokenizer = tokenizer;
    this.#vocabulary = vocabulary;
    this.#open = open;
  }

  /** A constraint for one text. Rejects with `GRAMMAR_INVALID`. */
  async constrain(grammar: Grammar): Promise<TokenConstraint> {
    const compiled = await this.#compile(grammar);
    const { realm } = await this.#forTexts();
    const matcher = await realm.library.GrammarMatcher.createGrammarMatcher(compiled);
    return {
      fill: async (mask) => mask.set(await matcher.getNextTokenBitmask()),
      accept: (id) => void matcher.acceptToken(id),
      get isComplete() {
        return matcher.isTerminated();
      },
      [Symbol.dispose]: () => matcher.dispose(),
    };
  }

  #compile(grammar: Grammar): Promise<CompiledGrammar> {
    const key = JSON.stringify(grammar);
    const known = this.#compiled.get(key);
    if (known) {
      this.#compiled.delete(key);
      this.#compiled.set(key, known);
      return known;
    }
    const compiled = this.#tryOut(grammar).then(async () =>
      compileWith((await this.#forTexts()).compiler, grammar),
    );
    this.#compiled.set(key, compiled);
    compiled.catch(() => this.#compiled.delete(key));
    for (const [oldest, old] of this.#compiled) {
      if (this.#compiled.size <= MOST_COMPILED) break;
      this.#compiled.delete(oldest);
      void old.then((grammar_) => grammar_.dispose()).catch(() => undefined);
    }
    return compiled;
  }

  async #tryOut(grammar: Grammar): Promise<void> {
    checkSize(grammar);
    const { realm, compiler } = await this.#forTrials();
    try {
      const compiled = await compileWith(compiler, grammar);
      const matcher = await realm.library.GrammarMatcher.createGrammarMatcher(compiled);
      await matcher.getNextTokenBitmask();
      matcher.dispose();
      compiled.dispose();
    } catch (error) {
      this.#trial = undefined;
      fail('GRAMMAR_INVALID', { reason: reasonOf(realm.messages(), error) }, error);
    }
  }

  /** What could not be started is started again for the next who asks. */
  #forTexts(): Promise<Instance> {
    this.#main ??= this.#start(this.#tokenizer).catch((error: unknown) => {
      this.#main = undefined;
      throw error;
    });
    return this.#main;
  }

  #forTrials(): Promise<Instance> {
    this.#trial ??= this.#start(undefined).catch((error: unknown) => {
      this.#trial = undefined;
      throw error;
    });
    return this.#trial;
  }

  /** An instance for a tokenizer, or for plain bytes, which is enough to see whether a grammar can be compiled. */
  async #start(tokenizer: Tokenizer | undefined): Promise<Instance> {
    const realm = await this.#open();
    const { GrammarCompiler: Compiler, TokenizerInfo } = realm.library;
    const spellings = tokenizer ? spellingsOf(tokenizer) : [...byteCharacters(), ''];
    const size = tokenizer ? this.#vocabulary : spellings.length;
    const stops = tokenizer ? [...tokenizer.special.endOfGeneration] : [spellings.length - 1];
    const info = await TokenizerInfo.createTokenizerInfo(spellings, 'byte_level', false, size, stops);
    return { realm, compiler: await Compiler.createGrammarCompiler(info) };
  }
}

function compileWith(compiler: GrammarCompiler, grammar: Grammar): Promise<CompiledGrammar> {
  if (grammar.kind === 'tags') return compiler.compileStructuralTag(grammar.format);
  const isStrict = grammar.kind === 'schema';
  const schema = grammar.kind === 'json' ? ANY_OBJECT : JSON.stringify(grammar.schema);
  return compiler.compileJSONSchema(schema, true, undefined, undefined, isStrict, MOST_WHITESPACE);
}

/** Every token's bytes in GPT-2's alphabet, which spells any vocabulary; control tokens are empty: they are no text. */
function spellingsOf(tokenizer: Tokenizer): string[] {
  const characters = byteCharacters();
  return Array.from({ length: tokenizer.vocabularySize }, (_, id) => {
    if (tokenizer.isControl(id)) return '';
    return Array.from(tokenizer.tokenBytes(id), (byte) => characters[byte]).join('');
  });
}

function checkSize(grammar: Grammar): void {
  const text = JSON.stringify(grammar);
  if (text.length > LONGEST) {
    fail('GRAMMAR_INVALID', { reason: `it is ${text.length} characters long, at most ${LONGEST} are taken` });
  }
  let depth = 0;
  for (const character of text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '')) {
    if (character === '{' || character === '[') depth++;
    else if (character === '}' || character === ']') depth--;
    if (depth > DEEPEST) fail('GRAMMAR_INVALID', { reason: `it is nested more than ${DEEPEST} deep` });
  }
}

/** The library's own words, without the place in its source. */
function reasonOf(messages: string, error: unknown): string {
  const said = messages.replaceAll(/\[FATAL\] \S+: |Aborted\(.*\).*/g, '').trim();
  return said || (error instanceof Error ? error.message : String(error));
}

import type { CompiledGrammar, GrammarCompiler, StructuralTagFormat } from '@mlc-ai/web-xgrammar';
import { fail } from '../../base/errors.ts';
import { isDeeper } from '../../base/json-depth.ts';
import { byteCharacters } from '../byte-alphabet.ts';
import type { Tokenizer } from '../tokenizer.ts';
import type { GrammarRealm, OpenGrammarRealm } from './grammar-realm.ts';
import type { TokenConstraint } from '../constrained/token-constraint.ts';

export type { StructuralTagFormat } from '@mlc-ai/web-xgrammar';

/** What a text must be: any JSON object, JSON of a schema, or text with tagged parts. */
export type Grammar =
  | { readonly kind: 'json' }
  | { readonly kind: 'schema'; readonly schema: unknown }
  | { readonly kind: 'tags'; readonly format: StructuralTagFormat };

/** Longest description of a grammar in UTF-16 units, and how deeply it may be nested: both cost time and stack. */
const LONGEST = 128 * 1024;
const DEEPEST = 64;
/**
 * Parts of one schema, and of all in a description: the library compiles at one go, in a time that grows with the square of
 * a schema's parts and comes to a third of a second at this many.
 */
const MOST_PARTS = 1024;
const MOST_PARTS_OF_ALL = 4 * MOST_PARTS;
/** Compiled grammars that are kept for the next request. */
const MOST_COMPILED = 64;

/** Spaces and line ends between two parts of JSON: a model that is lost in them finds out again. */
const MOST_WHITESPACE = 8;
/** Schemas of more parts are written on one line: to count whitespace makes them twenty times as slow to compile. */
const MOST_PARTS_WITH_WHITESPACE = 48;
/** The indentation that stands for none and no line ends. */
const ONE_LINE = -1;

const ANY_OBJECT = JSON.stringify({ type: 'object' });

/** The library, started, with a compiler in it. */
interface Instance {
  readonly realm: GrammarRealm;
  readonly compiler: GrammarCompiler;
}

/** A compiled grammar, and how many are about to begin a text of it. */
interface Kept {
  readonly compiled: Promise<CompiledGrammar>;
  users: number;
}

/**
 * Compiles grammars for one tokenizer. A description is tried out in an instance of the library of its own first, so that
 * one that the library cannot take ends nobody else's generation.
 */
export class GrammarSource {
  readonly #tokenizer: Tokenizer;
  readonly #vocabulary: number;
  readonly #open: OpenGrammarRealm;
  readonly #compiled = new Map<string, Kept>();
  /** Resolves when nothing is tried out. */
  #trials: Promise<unknown> = Promise.resolve();
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
    const kept = this.#kept(grammar);
    kept.users++;
    try {
      const compiled = await kept.compiled;
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
    } finally {
      kept.users--;
    }
  }

  /** The grammar among those that are kept, the latest asked for last. */
  #kept(grammar: Grammar): Kept {
    const key = textOf(grammar);
    const known = this.#compiled.get(key);
    this.#compiled.delete(key);
    const kept = known ?? { compiled: this.#compile(grammar), users: 0 };
    this.#compiled.set(key, kept);
    if (known) return known;
    kept.compiled.catch(() => this.#compiled.delete(key));
    for (const [oldest, { compiled, users }] of this.#compiled) {
      if (this.#compiled.size <= MOST_COMPILED) break;
      if (users > 0 || oldest === key) continue;
      this.#compiled.delete(oldest);
      void compiled.then((old) => old.dispose()).catch(() => undefined);
    }
    return kept;
  }

  async #compile(grammar: Grammar): Promise<CompiledGrammar> {
    // One after the other: what ends an instance, and what it says of that, is then one grammar's.
    const trial = this.#trials.then(() => this.#tryOut(grammar));
    this.#trials = trial.catch(() => {});
    await trial;
    const { compiler } = await this.#forTexts();
    return compileWith(compiler, grammar);
  }

  async #tryOut(grammar: Grammar): Promise<void> {
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
  const isOneLine = isStrict && partsOf(grammar.schema) > MOST_PARTS_WITH_WHITESPACE;
  if (isOneLine) return compiler.compileJSONSchema(schema, false, ONE_LINE, undefined, isStrict);
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

/** The grammar as JSON. Throws `GRAMMAR_INVALID` for one that is too long, too deep, has too many parts, or cannot be written. */
function textOf(grammar: Grammar): string {
  const text = written(grammar);
  if (text.length > LONGEST) {
    fail('GRAMMAR_INVALID', { reason: `it is ${text.length} characters long, at most ${LONGEST} are taken` });
  }
  if (isDeeper(text, DEEPEST)) fail('GRAMMAR_INVALID', { reason: `it is nested more than ${DEEPEST} deep` });
  let all = 0;
  for (const schema of grammar.kind === 'schema' ? [grammar.schema] : schemasIn(grammar)) {
    const parts = partsOf(schema);
    checkParts('a schema', parts, MOST_PARTS);
    all += parts;
  }
  checkParts('all its schemas', all, MOST_PARTS_OF_ALL);
  return text;
}

function checkParts(what: string, found: number, most: number): void {
  if (found <= most) return;
  const reason = `${what} of ${found} parts (properties, items, alternatives), at most ${most} are taken: ask for less at once`;
  fail('GRAMMAR_INVALID', { reason });
}

/** The schemas in a description of tagged text. */
function* schemasIn(value: unknown): Generator<unknown, void> {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, part] of Object.entries(value)) {
    if (key === 'json_schema') yield part;
    else yield* schemasIn(part);
  }
}

/** How many schemas a schema is made of: whatever in it can be one is counted. */
function partsOf(schema: unknown): number {
  if (typeof schema === 'boolean') return 1;
  if (typeof schema !== 'object' || schema === null) return 0;
  let parts = Array.isArray(schema) ? 0 : 1;
  for (const part of Object.values(schema)) parts += partsOf(part);
  return parts;
}

function written(grammar: Grammar): string {
  try {
    return JSON.stringify(grammar);
  } catch (error) {
    return fail('GRAMMAR_INVALID', { reason: `it cannot be written as JSON: ${String(error)}` }, error);
  }
}

/** The library's own words, without the place in its source. */
function reasonOf(messages: string, error: unknown): string {
  const said = messages.replaceAll(/\[FATAL\] \S+: |Aborted\(.*\).*/g, '').trim();
  return said || (error instanceof Error ? error.message : String(error));
}

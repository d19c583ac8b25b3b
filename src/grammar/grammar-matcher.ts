import { fail } from '../base/errors.ts';
import type { CompiledGrammar } from './compiled-grammar.ts';
import { tokenFuel } from './fuel.ts';
import { DEAD } from './parser/configurations.ts';
import { Ints } from './tuple-table.ts';
import type { PreparedVocabulary } from './mask/prepared-vocabulary.ts';
import type { TokenMasks } from './mask/token-masks.ts';

/** The state of a text before one of its tokens. */
interface Place {
  readonly configuration: number;
  readonly length: number;
}

/** Matches one text against a grammar, token by token. Rolling back is free: a state is a number. */
export class GrammarMatcher {
  readonly #grammar: CompiledGrammar;
  readonly #masks: TokenMasks;
  readonly #vocabulary: PreparedVocabulary;
  readonly #text = new Ints();
  #before: Place[] = [];
  #configuration: number;
  #hasEnded = false;

  /** Created by `TokenGrammar.matcher`. */
  constructor(grammar: CompiledGrammar, masks: TokenMasks, vocabulary: PreparedVocabulary) {
    this.#grammar = grammar;
    this.#masks = masks;
    this.#vocabulary = vocabulary;
    this.#configuration = grammar.configurations.first;
  }

  /** Number of tokens so far. */
  get length(): number {
    return this.#before.length;
  }

  /** True if the text may end here: end-of-generation tokens are then allowed. */
  get canEnd(): boolean {
    return !this.#hasEnded && !this.isDead && this.#grammar.configurations.canEnd(this.#configuration);
  }

  /** True if nothing may follow: the text has ended, or can only end. */
  get isComplete(): boolean {
    return this.#hasEnded || (this.canEnd && !this.#grammar.configurations.canContinue(this.#configuration));
  }

  /** True if the grammar allows no continuation at all. */
  get isDead(): boolean {
    return this.#configuration === DEAD;
  }

  /**
   * Writes which tokens may come next: bit `id % 32` of word `id / 32`. False if there are none: a dead end, which
   * `failDeadEnd` reports, unless the text `isComplete`. Throws `GRAMMAR_TOO_COSTLY`.
   */
  fill(mask: Int32Array): boolean {
    const configuration = this.#hasEnded ? DEAD : this.#configuration;
    const fuel = tokenFuel('the mask of the next token');
    return this.#grammar.work(fuel, () => this.#masks.fill(configuration, this.#text, mask));
  }

  /** Throws `GRAMMAR_DEAD_END` with the end of the text. */
  failDeadEnd(): never {
    const tail = Uint8Array.from(
      this.#text.array.subarray(Math.max(0, this.#text.length - 40), this.#text.length),
    );
    const shown = JSON.stringify(new TextDecoder().decode(tail));
    return fail('GRAMMAR_DEAD_END', { reason: `no token of the vocabulary is allowed behind ${shown}` });
  }

  /** Accepts a token. Throws `GRAMMAR_DEAD_END`, without changing the state, if it is not allowed. */
  accept(id: number): void {
    if (!this.tryAccept(id)) fail('GRAMMAR_DEAD_END', { reason: `token ${id} is not allowed here` });
  }

  /** Accepts a token if it is allowed. */
  tryAccept(id: number): boolean {
    return this.#grammar.work(tokenFuel('the next token'), () => this.#take(id));
  }

  #take(id: number): boolean {
    if (this.#hasEnded || this.isDead || !(id >= 0 && id < this.#vocabulary.size)) return false;
    const { configurations } = this.#grammar;
    const place = { configuration: this.#configuration, length: this.#text.length };
    const isText = this.#vocabulary.isText(id);
    const spelled = this.#behindBytes(id);
    if (spelled === DEAD) this.#text.length = place.length;
    const next = configurations.union(
      spelled,
      configurations.stepToken(place.configuration, id, isText, this.#text.length),
    );
    if (next === DEAD) {
      if (!this.#vocabulary.vocabulary.endOfGeneration.has(id) || !this.canEnd) return false;
      this.#hasEnded = true;
    } else {
      this.#configuration = next;
    }
    this.#before.push(place);
    return true;
  }

  /** Undoes the latest `tokens` tokens, at most all of them. */
  rollback(tokens: number): void {
    if (tokens === 0) return;
    const place = this.#before.splice(this.#before.length - tokens)[0] as Place;
    this.#configuration = place.configuration;
    this.#text.length = place.length;
    this.#hasEnded = false;
  }

  /** A matcher for another text in the same state. */
  copy(): GrammarMatcher {
    const copy = new GrammarMatcher(this.#grammar, this.#masks, this.#vocabulary);
    copy.#text.append(this.#text.array, 0, this.#text.length);
    copy.#before = this.#before.slice();
    copy.#configuration = this.#configuration;
    copy.#hasEnded = this.#hasEnded;
    return copy;
  }

  /** The configuration after a token's bytes, which stay appended to the text. */
  #behindBytes(id: number): number {
    const kind = this.#vocabulary.vocabulary.kind(id);
    if (kind === 'control' || kind === 'unused') return DEAD;
    const bytes = this.#vocabulary.vocabulary.bytes(id);
    let at = bytes.length === 0 ? DEAD : this.#configuration;
    for (const byte of bytes) {
      if (at === DEAD) return DEAD;
      this.#text.push(byte);
      at = this.#grammar.configurations.step(at, this.#text);
    }
    return at;
  }
}

import type { CompiledGrammar } from '../compiled-grammar.ts';
import { Fuel } from '../fuel.ts';
import { DEAD } from '../parser/configurations.ts';
import { Ints } from '../tuple-table.ts';
import { type EndingTokens, type Inside, InsideMasks } from './inside-masks.ts';
import { clearBit, type PreparedVocabulary, setBit } from './prepared-vocabulary.ts';
import type { TokenTrie } from './token-trie.ts';

/** Masks that are kept by configuration, of a few thousand words each. */
const MOST_KEPT = 256;

/** A terminal under way that may end: its row, where in the text it began, and by which tokens. */
interface Ended extends EndingTokens {
  readonly row: number;
  readonly began: number;
  readonly trie: TokenTrie;
}

/**
 * The tokens that a grammar allows next. What stays inside the terminals that are under way is known by the lexer's state alone; where
 * terminals end, the parser walks on through what is left of the tokens. Whole masks are kept by configuration.
 */
export class TokenMasks {
  readonly #grammar: CompiledGrammar;
  readonly #vocabulary: PreparedVocabulary;
  readonly #inside: InsideMasks;
  readonly #kept = new Map<number, Int32Array>();
  readonly #scratch: Int32Array;
  /** By depth in the tree, the configuration there. */
  readonly #states: Int32Array;
  /** What the text would be at the node that is being looked at. */
  readonly #text = new Ints(1024);
  /** Length of the text before the token. */
  #before = 0;
  #dependsOnText = false;

  constructor(grammar: CompiledGrammar, vocabulary: PreparedVocabulary) {
    this.#grammar = grammar;
    this.#vocabulary = vocabulary;
    this.#inside = new InsideMasks(grammar.rows.lexer, vocabulary);
    this.#scratch = new Int32Array(vocabulary.words);
    this.#states = new Int32Array(vocabulary.all.deepest + 1);
  }

  /**
   * Writes which tokens may come next, bit `id % 32` of word `id / 32`; `text` is what the configuration has read. False where there
   * are none. Throws `GRAMMAR_TOO_COSTLY`.
   */
  fill(configuration: number, text: Ints, mask: Int32Array): boolean {
    mask.fill(0);
    if (configuration === DEAD) return false;
    const kept = this.#kept.get(configuration);
    if (kept) {
      mask.set(kept);
    } else {
      this.#grammar.refuel(new Fuel('the mask of the next token'));
      this.#make(configuration, text, mask);
      if (!this.#dependsOnText) this.#keep(configuration, mask);
    }
    return mask.some((word) => word !== 0);
  }

  #keep(configuration: number, mask: Int32Array): void {
    if (this.#kept.size === MOST_KEPT) {
      const [oldest] = this.#kept.keys();
      this.#kept.delete(oldest as number);
    }
    this.#kept.set(configuration, mask.slice(0, this.#vocabulary.words));
  }

  #make(configuration: number, text: Ints, mask: Int32Array): void {
    const { configurations } = this.#grammar;
    this.#dependsOnText = false;
    this.#before = text.length;
    this.#text.length = 0;
    this.#text.append(text.array, 0, text.length);
    const ended: Ended[] = [];
    const members = configurations.members(configuration);
    for (let i = 0; i < members.length; i += 3) {
      const [row = 0, began = 0, state = 0] = members.slice(i, i + 3);
      const inside = this.#inside.of(state);
      this.#apply(inside, mask, i === 0);
      for (const tokens of inside.endings) ended.push({ ...tokens, row, began, trie: inside.trie });
    }
    for (const one of ended) this.#takeEnded(one, mask);
    for (const id of configurations.tokens(configuration)) setBit(mask, id);
    for (const except of configurations.exceptions(configuration)) this.#allowAllBut(except, mask);
    if (!configurations.canEnd(configuration)) return;
    for (const id of this.#vocabulary.vocabulary.endOfGeneration) setBit(mask, id);
  }

  #apply({ base, plus, minus }: Inside, mask: Int32Array, isFirst: boolean): void {
    // What one terminal forbids another may allow.
    const isOwn = isFirst || minus.length === 0;
    const target = isOwn ? mask : this.#scratch;
    if (base && (isFirst || !isOwn)) target.set(base);
    else if (base) merge(target, base);
    else if (!isOwn) target.fill(0);
    for (const id of plus) setBit(target, id);
    for (const id of minus) clearBit(target, id);
    if (!isOwn) merge(mask, this.#scratch);
  }

  #allowAllBut(except: ReadonlySet<number>, mask: Int32Array): void {
    for (let id = 0; id < this.#vocabulary.size; id++) {
      if (!except.has(id) && this.#vocabulary.isText(id)) setBit(mask, id);
    }
  }

  #takeEnded(ended: Ended, mask: Int32Array): void {
    const { configurations, rows } = this.#grammar;
    const { row, ending, tokens, nodes, trie } = ended;
    const behind = rows.behind(row, ending);
    if (rows.endsDistinct(row, ending)) return this.#takeEndedDistinct(ended, behind, mask);
    if (rows.isDead(behind)) return;
    for (const id of tokens) setBit(mask, id);
    const matters = rows.at(behind).hasDistinct;
    const same = matters ? DEAD : configurations.begin(behind, this.#before);
    for (const node of nodes) {
      const position = this.#before + (trie.depths[node] as number);
      this.#text.resize(position);
      this.#walk(trie, node, matters ? configurations.begin(behind, position) : same, mask, false);
    }
  }

  /** What a `distinct` terminal has matched makes a difference only where one follows: elsewhere the row without it will do. */
  #takeEndedDistinct(ended: Ended, behind: number, mask: Int32Array): void {
    const { configurations, rows } = this.#grammar;
    const { tokens, nodes, trie } = ended;
    const isAlive = rows.isAliveWithoutDistinct(behind);
    for (const id of tokens) {
      if (isAlive || this.#exactlyBehind(ended, id, this.#vocabulary.vocabulary.bytes(id).length) !== DEAD) {
        setBit(mask, id);
      }
    }
    for (const node of nodes) {
      const depth = trie.depths[node] as number;
      this.#text.resize(this.#before + depth);
      const near = configurations.begin(behind, this.#before + depth);
      if (this.#walk(trie, node, near, mask, true)) continue;
      this.#walk(trie, node, this.#exactlyBehind(ended, trie.tokenUnder(node), depth), mask, false);
    }
  }

  /** The configuration where the terminals end with the first bytes of a token. */
  #exactlyBehind({ row, began, ending }: Ended, id: number, depth: number): number {
    const { configurations, rows } = this.#grammar;
    this.#dependsOnText = true;
    this.#text.resize(this.#before);
    const bytes = this.#vocabulary.vocabulary.bytes(id);
    for (let i = 0; i < depth; i++) this.#text.push(bytes[i] as number);
    const kernel: number[] = [];
    const text = () => Uint8Array.from(this.#text.array.subarray(began, this.#text.length));
    rows.scan(row, ending, text, kernel);
    return configurations.begin(rows.row(kernel), this.#text.length);
  }

  /**
   * Allows the tokens under a node that the parser takes from a configuration at the node. With `avoidsDistinct` it stops where a
   * `distinct` terminal begins, and returns false.
   */
  #walk(
    trie: TokenTrie,
    node: number,
    configuration: number,
    mask: Int32Array,
    avoidsDistinct: boolean,
  ): boolean {
    const { configurations } = this.#grammar;
    const { bytes, depths, ends, firstTokens, tokens } = trie;
    if (configuration === DEAD) return true;
    if (avoidsDistinct && configurations.hasDistinct(configuration)) return false;
    const states = this.#states;
    const end = ends[node] as number;
    states[depths[node] as number] = configuration;
    for (let at = node + 1; at < end;) {
      const depth = depths[at] as number;
      this.#text.length = this.#before + depth - 1;
      this.#text.push(bytes[at] as number);
      const next = configurations.step(states[depth - 1] as number, this.#text);
      if (next === DEAD) {
        at = ends[at] as number;
        continue;
      }
      if (avoidsDistinct && configurations.hasDistinct(next)) return false;
      const last = firstTokens[at + 1] as number;
      for (let i = firstTokens[at] as number; i < last; i++) setBit(mask, tokens[i] as number);
      states[depth] = next;
      at++;
    }
    return true;
  }
}

function merge(mask: Int32Array, other: Int32Array): void {
  for (let i = 0; i < other.length; i++) mask[i] = (mask[i] as number) | (other[i] as number);
}

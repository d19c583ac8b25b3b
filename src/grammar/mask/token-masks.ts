import type { CompiledGrammar } from '../compiled-grammar.ts';
import { DEAD, DEPENDS_ON_TEXT } from '../parser/configurations.ts';
import { Ints } from '../tuple-table.ts';
import { type LexerStateMask, LexerStateMasks } from './lexer-state-masks.ts';
import { clearBit, type PreparedVocabulary, setBit } from './prepared-vocabulary.ts';
import type { TokenTrie } from './token-trie.ts';

/** The number of masks cached by configuration, each of a few thousand words. */
const MAX_KEPT = 512;

/**
 * Tokens that depend on the texts of `distinct` terminals: those below a node where terminals of a member end, or those
 * at it.
 */
interface Undecided {
  /** The index of the configuration's member. */
  readonly member: number;
  readonly ending: number;
  readonly trie: TokenTrie;
  readonly node: number;
  /** True for the tokens at the node, false for those below it. */
  readonly isNode: boolean;
}

/** A mask shared by all configurations that differ only in what `distinct` terminals have matched. */
interface Kept {
  readonly mask: Int32Array;
  readonly undecided: readonly Undecided[];
  /** Special tokens after which memories decide. */
  readonly tokens: readonly number[];
  /** Valid while no memory has more texts than this. */
  readonly texts: number;
}

/**
 * The tokens that a grammar allows next. What stays within the unfinished terminals depends on the lexer's state alone;
 * where terminals end, the parser walks on through the rest of the tokens. Both are computed for the configuration
 * without memories, and cached; only what depends on memories is computed each time.
 */
export class TokenMasks {
  readonly #grammar: CompiledGrammar;
  readonly #vocabulary: PreparedVocabulary;
  readonly #inside: LexerStateMasks;
  readonly #kept = new Map<number, Kept>();
  readonly #scratch: Int32Array;
  /** By depth in the trie: the configuration there. */
  readonly #states: Int32Array;
  /** The text so far, up to the current node. */
  readonly #text = new Ints(1024);

  constructor(grammar: CompiledGrammar, vocabulary: PreparedVocabulary) {
    this.#grammar = grammar;
    this.#vocabulary = vocabulary;
    this.#inside = new LexerStateMasks(grammar.rows.lexer, vocabulary);
    this.#scratch = new Int32Array(vocabulary.words);
    this.#states = new Int32Array(vocabulary.all.deepest + 1);
  }

  /** The number of integers in the masks that are cached by configuration. */
  get ints(): number {
    return this.#kept.size * this.#vocabulary.words;
  }

  /**
   * Writes the mask of allowed tokens, bit `id % 32` of word `id / 32`; `text` is what the configuration has read.
   * Returns false when none is allowed. Throws `GRAMMAR_TOO_COSTLY`.
   */
  fill(configuration: number, text: Ints, mask: Int32Array): boolean {
    if (configuration === DEAD) {
      mask.fill(0);
      return false;
    }
    const { configurations, rows, shadows } = this.#grammar;
    const members = configurations.members(configuration);
    const shadow = shadows.shadowOf(configurations, configuration);
    let kept = this.#kept.get(shadow);
    if (!kept || kept.texts < rows.maxTexts) kept = this.#keep(shadow, members);
    mask.set(kept.mask);
    if (mask.length > kept.mask.length) mask.fill(0, kept.mask.length);
    for (const undecided of kept.undecided) this.#decide(undecided, members, text, mask);
    for (const id of kept.tokens) {
      const isText = this.#vocabulary.isText(id);
      if (configurations.stepToken(configuration, id, isText, text.length) !== DEAD) setBit(mask, id);
    }
    return mask.some((word) => word !== 0);
  }

  #keep(shadow: number, members: readonly number[]): Kept {
    const kept = this.#make(shadow, members);
    this.#kept.delete(shadow);
    if (this.#kept.size === MAX_KEPT) {
      const [oldest] = this.#kept.keys();
      this.#kept.delete(oldest as number);
    }
    this.#kept.set(shadow, kept);
    return kept;
  }

  #make(shadow: number, members: readonly number[]): Kept {
    const { shadows, rows } = this.#grammar;
    const mask = new Int32Array(this.#vocabulary.words);
    const making = new Making(rows.maxTexts, mask);
    const insides: { inside: LexerStateMask; member: number }[] = [];
    for (let i = 0; i < members.length; i += 3) {
      for (const part of rows.lexer.partsOf(members[i + 2] as number)) {
        const inside = this.#inside.of(part);
        this.#apply(inside, mask, insides.length === 0);
        insides.push({ inside, member: i / 3 });
      }
    }
    for (const { inside, member } of insides) {
      this.#takeEndings(inside, member, members[member * 3] as number, making);
    }
    const tokens: number[] = [];
    for (const id of shadows.tokens(shadow)) {
      const behind = shadows.stepToken(shadow, id, this.#vocabulary.isText(id), 0);
      if (behind === DEAD) continue;
      if (making.isSure(shadows.minTexts(behind))) setBit(mask, id);
      else tokens.push(id);
    }
    for (const except of shadows.exceptions(shadow)) this.#allowAllBut(except, mask);
    if (shadows.canEnd(shadow))
      for (const id of this.#vocabulary.vocabulary.endOfGeneration) setBit(mask, id);
    return { mask, undecided: making.undecided, tokens, texts: making.texts };
  }

  #apply({ base, plus, minus }: LexerStateMask, mask: Int32Array, isFirst: boolean): void {
    // What one terminal forbids, another may allow.
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

  /** Tokens at whose end, or within which, terminals of a member end. */
  #takeEndings(inside: LexerStateMask, member: number, row: number, making: Making): void {
    const { rows, shadows } = this.#grammar;
    const { trie } = inside;
    for (const { ending, ends, nodes } of inside.endings) {
      const undecided = { member, ending, trie };
      if (rows.at(row).isAmbiguous) {
        for (const node of ends) making.leave({ ...undecided, node, isNode: true });
        for (const node of nodes) making.leave({ ...undecided, node, isNode: false });
        continue;
      }
      const behind = shadows.begin(rows.behind(rows.shadow(row), ending), 0);
      if (behind === DEAD) continue;
      const isSure = making.isSure(shadows.minTexts(behind));
      for (const node of ends) {
        if (isSure) making.allow(trie, node);
        else making.leave({ ...undecided, node, isNode: true });
      }
      for (const node of nodes) {
        if (!this.#walkShadow(trie, node, behind, making))
          making.leave({ ...undecided, node, isNode: false });
      }
    }
  }

  /** Allows the tokens below a node that are allowed with any memories; returns false when some remain undecided. */
  #walkShadow(trie: TokenTrie, node: number, configuration: number, making: Making): boolean {
    const { shadows } = this.#grammar;
    const { bytes, depths, ends } = trie;
    const states = this.#states;
    const end = ends[node] as number;
    let isDecided = true;
    states[depths[node] as number] = configuration;
    for (let at = node + 1; at < end;) {
      const depth = depths[at] as number;
      const next = shadows.stepByte(states[depth - 1] as number, bytes[at] as number);
      if (next < 0) {
        isDecided &&= next !== DEPENDS_ON_TEXT;
        at = ends[at] as number;
        continue;
      }
      if (making.isSure(shadows.minTexts(next))) making.allow(trie, at);
      else isDecided = false;
      states[depth] = next;
      at++;
    }
    return isDecided;
  }

  /** Decides tokens with the actual memories. */
  #decide(
    { member, ending, trie, node, isNode }: Undecided,
    members: readonly number[],
    text: Ints,
    mask: Int32Array,
  ): void {
    const { configurations, rows } = this.#grammar;
    const [row, began] = [members[member * 3] as number, members[member * 3 + 1] as number];
    this.#text.length = 0;
    this.#text.append(text.array, 0, text.length);
    const bytes = this.#vocabulary.vocabulary.bytes(trie.tokenUnder(node));
    for (let i = 0; i < (trie.depths[node] as number); i++) this.#text.push(bytes[i] as number);
    const kernel: number[] = [];
    const matched = () => Uint8Array.from(this.#text.array.subarray(began, this.#text.length));
    rows.scan(row, ending, matched, kernel);
    const behind = configurations.begin(rows.row(kernel), this.#text.length);
    if (behind === DEAD) return;
    if (isNode) allow(trie, node, mask);
    else this.#walk(trie, node, behind, text.length, mask);
  }

  /** Allows the tokens below a node that the parser accepts from the configuration at the node. */
  #walk(trie: TokenTrie, node: number, configuration: number, before: number, mask: Int32Array): void {
    const { configurations } = this.#grammar;
    const { bytes, depths, ends } = trie;
    const states = this.#states;
    const end = ends[node] as number;
    states[depths[node] as number] = configuration;
    for (let at = node + 1; at < end;) {
      const depth = depths[at] as number;
      this.#text.length = before + depth - 1;
      this.#text.push(bytes[at] as number);
      const next = configurations.step(states[depth - 1] as number, this.#text);
      if (next === DEAD) {
        at = ends[at] as number;
        continue;
      }
      allow(trie, at, mask);
      states[depth] = next;
      at++;
    }
  }
}

/** A mask under construction. */
class Making {
  readonly undecided: Undecided[] = [];
  /** The mask is valid while no memory has more texts than this. */
  texts = Infinity;
  readonly #maxTexts: number;
  readonly #mask: Int32Array;

  constructor(maxTexts: number, mask: Int32Array) {
    this.#maxTexts = maxTexts;
    this.#mask = mask;
  }

  /** True when at least one of this many texts certainly remains. */
  isSure(minTexts: number): boolean {
    if (minTexts <= this.#maxTexts) return false;
    this.texts = Math.min(this.texts, minTexts - 1);
    return true;
  }

  allow(trie: TokenTrie, node: number): void {
    allow(trie, node, this.#mask);
  }

  leave(undecided: Undecided): void {
    this.undecided.push(undecided);
  }
}

function allow({ firstTokens, tokens }: TokenTrie, node: number, mask: Int32Array): void {
  const last = firstTokens[node + 1] as number;
  for (let i = firstTokens[node] as number; i < last; i++) setBit(mask, tokens[i] as number);
}

function merge(mask: Int32Array, other: Int32Array): void {
  for (let i = 0; i < other.length; i++) mask[i] = (mask[i] as number) | (other[i] as number);
}

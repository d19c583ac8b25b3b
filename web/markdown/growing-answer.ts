import type { Tokens } from 'marked';
import { GrowingCode } from './growing-code.ts';
import { type AnswerToken, blocksOf, isBlank, type Links, plainLines } from './lexer.ts';
import { blockNodes, type CodeTools, listItems } from './nodes.ts';
import { type ListHead, patched, type Piece, PlacedPieces } from './placed-pieces.ts';

/** Of the time that passes, drawing what is unfinished takes at most one part in so many. */
const PAUSE = 4;
/** What is drawn faster than this, in milliseconds, is drawn each time. */
const QUICK = 4;

/** What makes answers more than their text. */
export interface AnswerTools {
  readonly code: CodeTools;
  /** Is given what will not change any more, unless the answer is continued. */
  finish(elements: Iterable<Node>): void;
}

/** A piece and its Markdown. */
interface ReadPiece extends Piece {
  readonly raw: string;
}

/** A finished piece that may name a link whose definition has not come. */
interface Naming {
  node: Node;
  readonly raw: string;
}

/**
 * An answer's Markdown in an element. Blocks are finished when the first line of the next one has come whole: they are parsed and made
 * once, so that the time for a token does not grow with the answer. What is unfinished is changed in place, so that what is selected in
 * it stays selected. However the text came, it looks as it would at once.
 */
export class GrowingAnswer {
  readonly #into: HTMLElement;
  readonly #tools: AnswerTools;
  #pieces: PlacedPieces;
  /** What finished blocks define, and the pieces that may name what later ones will. */
  #links = Object.create(null) as Links;
  #naming: Naming[] = [];
  /** The links whose definitions ended the text, as if it were whole. */
  #early: readonly string[] = [];
  /** The characters whose blocks are finished. */
  #finished = 0;
  /** The characters of whole lines in which finished blocks have been looked for. */
  #settled = 0;
  #shown = '';
  /** Whether what is unfinished begins with an item of a list of which others are finished. */
  #isInList = false;
  /** The block of code that grows. */
  #code: GrowingCode | undefined;
  #pausedUntil = 0;

  constructor(into: HTMLElement, tools: AnswerTools) {
    this.#into = into;
    this.#tools = tools;
    this.#pieces = new PlacedPieces(into);
  }

  /** Shows a text, `whole` or still growing. A text that does not continue the last one is shown from its beginning. */
  show(given: string, whole: boolean): void {
    // As the lexer does: its tokens tell the length of what they stand for.
    const text = given.includes('\r') ? given.replaceAll('\r', '') : given;
    if (!text.startsWith(this.#shown)) this.#clear();
    const begin = performance.now();
    if (!whole && begin < this.#pausedUntil) return;
    this.#shown = text;
    this.#grow(plainLines(text.slice(this.#finished)), whole);
    if (whole && !this.#code) this.#tools.finish(this.#pieces.live);
    const took = performance.now() - begin;
    this.#pausedUntil = took > QUICK ? begin + took * PAUSE : 0;
  }

  #grow(given: string, whole: boolean): void {
    const rest = this.#growCode(given, whole);
    if (rest === '') return;
    const live = rest.slice(this.#settle(rest));
    // What is unfinished may turn out to define nothing.
    const links = Object.create(this.#links) as Links;
    const tokens = blocksOf(live, links);
    this.#pieces.draw(this.#piecesOf(tokens));
    const early = new Set([...this.#early, ...(whole ? Object.keys(links) : [])]);
    for (const tag of early) this.#nameAgain(tag, links);
    this.#early = [...early].filter((tag) => Object.hasOwn(links, tag));
    if (!whole) this.#beginCode(live, tokens);
  }

  /**
   * Finishes the blocks that no further text can change, and returns how many characters they have: those before the last one that
   * whole lines show and, if that is a list, its items but the last. A definition may go on in the line behind it.
   */
  #settle(rest: string): number {
    const lines = rest.slice(0, rest.lastIndexOf('\n') + 1);
    if (this.#finished + lines.length <= this.#settled) return 0;
    this.#settled = this.#finished + lines.length;
    const tokens = blocksOf(lines, Object.create(this.#links) as Links);
    const last = tokens.findLastIndex((token) => !isBlank(token));
    let end = Math.max(0, last);
    while (tokens[end - 1]?.type === 'def') end--;
    const finished = tokens.slice(0, end);
    const token = tokens[end];
    const list = end === last && token?.type === 'list' ? (token as Tokens.List) : undefined;
    const items = list?.items.slice(0, -1) ?? [];
    const taken = items.length > 0 && list ? [...finished, { ...list, items }] : finished;
    const length = lengthOf(finished) + lengthOf(items);
    if (length === 0) return 0;
    this.#finish(taken);
    this.#finished += length;
    // Blocks end a list.
    this.#isInList = items.length > 0 || (this.#isInList && finished.every(isBlank));
    return length;
  }

  #finish(tokens: readonly AnswerToken[]): void {
    const pieces = this.#piecesOf(tokens);
    const nodes = this.#pieces.finish(pieces);
    this.#tools.finish(nodes);
    for (const definition of definitionsIn(tokens)) this.#define(definition);
    for (const [at, { raw }] of pieces.entries()) {
      const node = nodes[at];
      if (node && raw.includes('[')) this.#naming.push({ node, raw });
    }
  }

  #define(definition: Tokens.Def): void {
    const { tag } = definition;
    if (tag in this.#links) return;
    this.#links[tag] = definition;
    this.#nameAgain(tag, this.#links);
  }

  /** Draws what is finished and names a link, again. */
  #nameAgain(tag: string, links: Links): void {
    for (const naming of this.#naming) {
      if (!naming.raw.toLowerCase().replaceAll(/\s+/g, ' ').includes(`[${tag}]`)) continue;
      const [piece] = this.#piecesOf(blocksOf(naming.raw, Object.create(links) as Links));
      if (piece) naming.node = patched(naming.node, piece.node);
      this.#tools.finish([naming.node]);
    }
  }

  /** Blocks and the items of lists, each with what shows it. */
  #piecesOf(tokens: readonly AnswerToken[]): ReadPiece[] {
    const shown = tokens.filter((token) => !isBlank(token));
    return shown.flatMap((token, at): ReadPiece[] => {
      const { raw } = token;
      if (token.type !== 'list')
        return blockNodes([token], this.#tools.code).map((node) => ({ node, head: undefined, raw }));
      const list = token as Tokens.List;
      const start = list.start === '' ? 1 : list.start;
      const head: ListHead = { ordered: list.ordered, start, continues: at === 0 && this.#isInList };
      return listItems(list, this.#tools.code).map((node, of) => ({
        node,
        head,
        raw: list.items[of]?.raw ?? '',
      }));
    });
  }

  /** Reads a block of code line by line from here on, if it is all that is unfinished and has not ended. */
  #beginCode(text: string, tokens: readonly AnswerToken[]): void {
    const [only, another] = tokens.filter((token) => !isBlank(token));
    const code = only && !another ? GrowingCode.of(only, this.#pieces.live[0]) : undefined;
    if (!only || !code) return;
    this.#code = code.block;
    const begin = lengthOf(tokens.slice(0, tokens.indexOf(only))) + code.begin;
    this.#finished += begin;
    this.#growCode(text.slice(begin), false);
  }

  /** Goes on with a block of code, and returns what follows it; without one, all. */
  #growCode(rest: string, whole: boolean): string {
    if (!this.#code) return rest;
    const taken = this.#code.grow(rest, whole);
    this.#finished += taken;
    if (!this.#code.isClosed) return '';
    this.#code = undefined;
    this.#isInList = false;
    this.#pieces.finishFirst(1);
    return rest.slice(taken);
  }

  #clear(): void {
    this.#pieces = new PlacedPieces(this.#into);
    this.#links = Object.create(null) as Links;
    this.#naming = [];
    this.#early = [];
    this.#finished = 0;
    this.#settled = 0;
    this.#shown = '';
    this.#isInList = false;
    this.#code = undefined;
  }
}

/** Definitions, those in quotes and lists too. */
function definitionsIn(tokens: readonly AnswerToken[]): Tokens.Def[] {
  return tokens.flatMap((token) => {
    if (token.type === 'def') return [token as Tokens.Def];
    if (token.type === 'blockquote') return definitionsIn((token as Tokens.Blockquote).tokens);
    return token.type === 'list'
      ? (token as Tokens.List).items.flatMap((item) => definitionsIn(item.tokens))
      : [];
  });
}

function lengthOf(parts: readonly { readonly raw: string }[]): number {
  return parts.reduce((sum, { raw }) => sum + raw.length, 0);
}

import type { Tokens } from 'marked';
import { GrowingCode } from './growing-code.ts';
import { type AnswerToken, blocksOf, type Links } from './lexer.ts';
import { blockNodes, type CodeTools, listElement, listItems } from './nodes.ts';

/** Of the time that passes, drawing an unfinished block takes at most one part in so many. */
const PAUSE = 4;
/** Blocks that are drawn faster than this, in milliseconds, are drawn each time. */
const QUICK = 4;

/** What makes answers more than their text. */
export interface AnswerTools {
  readonly code: CodeTools;
  /** Is given what will not change any more, unless the answer is continued. */
  finish(elements: Iterable<Node>): void;
}

/** Blocks that are laid out and painted together: what changes at the end leaves all parts but the last alone. */
const PART_BLOCKS = 16;
/** Items of a list in one element: a longer list goes on in another one, in a part of its own. */
const PIECE_ITEMS = 32;

/** A list that may go on. */
interface OpenList {
  /** The element that its last items are in. */
  element: HTMLElement;
  /** Items in all its elements. */
  count: number;
  /** The number of its first item. */
  readonly start: number;
}

/**
 * An answer's Markdown in an element. Every block is parsed and made once, when the next one begins, so that the time for a token
 * does not grow with the answer; the last block is changed in place, so that what is selected in it stays selected.
 */
export class GrowingAnswer {
  readonly #into: HTMLElement;
  /** The last of the elements that the blocks are in. */
  #part: HTMLElement;
  readonly #tools: AnswerTools;
  /** What finished blocks define. */
  readonly #links: Links = Object.create(null) as Links;
  /** The characters whose blocks are finished. */
  #finished = 0;
  #shown = '';
  /** The nodes of the block that grows; of a list its last item. */
  #live: Node[] = [];
  #list: OpenList | undefined;
  /** The block of code that grows. */
  #code: GrowingCode | undefined;
  #pausedUntil = 0;

  constructor(into: HTMLElement, tools: AnswerTools) {
    this.#into = into;
    this.#part = into.appendChild(document.createElement('div'));
    this.#tools = tools;
  }

  /** Shows a text, `whole` or still growing. A text that does not continue the last one is shown from its beginning. */
  show(given: string, whole: boolean): void {
    // As the lexer does: its tokens tell the length of what they stand for.
    const text = given.includes('\r') ? given.replaceAll('\r', '') : given;
    if (!text.startsWith(this.#shown)) this.#clear();
    const begin = performance.now();
    if (!whole && begin < this.#pausedUntil) return;
    this.#shown = text;
    this.#grow(text.slice(this.#finished), whole);
    if (whole && !this.#code) this.#tools.finish(this.#live);
    const took = performance.now() - begin;
    this.#pausedUntil = took > QUICK ? begin + took * PAUSE : 0;
  }

  #grow(given: string, whole: boolean): void {
    const rest = this.#growCode(given, whole);
    if (rest === '') return;
    // A block that grows may turn out to define nothing.
    const tokens = blocksOf(rest, Object.create(this.#links) as Links);
    const last = tokens.findLastIndex(({ type }) => type !== 'space');
    for (const token of tokens.slice(0, Math.max(0, last))) this.#finish(token);
    const live = tokens[last];
    if (!live) return;
    this.#draw(live);
    // All items of a list but the last are finished.
    if (live.type === 'list')
      for (const { raw } of (live as Tokens.List).items.slice(0, -1)) this.#finished += raw.length;
    const code = whole ? undefined : GrowingCode.of(live, this.#live[0]);
    if (!code) return;
    this.#code = code.block;
    this.#finished += code.begin;
    this.#growCode(rest.slice(rest.length - live.raw.length + code.begin), false);
  }

  /** Goes on with a block of code, and returns what follows it; without one, all. */
  #growCode(rest: string, whole: boolean): string {
    if (!this.#code) return rest;
    const taken = this.#code.grow(rest, whole);
    this.#finished += taken;
    if (!this.#code.isClosed) return '';
    this.#code = undefined;
    this.#endBlock();
    return rest.slice(taken);
  }

  /** Shows a block for good. */
  #finish(token: AnswerToken): void {
    this.#draw(token);
    if (token.type === 'def') this.#links[(token as Tokens.Def).tag] ??= token as Tokens.Def;
    if (token.type !== 'space') {
      this.#tools.finish(this.#live);
      this.#endBlock();
    }
    this.#finished += token.raw.length;
  }

  /** What grew will not change any more. */
  #endBlock(): void {
    this.#live = [];
    this.#list = undefined;
    if (this.#part.childElementCount >= PART_BLOCKS) this.#beginPart();
  }

  #beginPart(): void {
    this.#part = this.#into.appendChild(document.createElement('div'));
  }

  #draw(token: AnswerToken): void {
    if (token.type === 'space') return;
    if (token.type === 'list') return this.#drawItems(token as Tokens.List);
    if (this.#isItem) this.#drop();
    this.#live = patchAll(this.#part, this.#live, blockNodes([token], this.#tools.code));
  }

  /** Shows items behind those that are finished; the first may be the one that grew. */
  #drawItems(list: Tokens.List): void {
    if (!this.#isItem) this.#drop();
    let grown = this.#live;
    for (const [at, item] of listItems(list, this.#tools.code).entries()) {
      if (at > 0) this.#tools.finish(this.#live);
      this.#live = patchAll(grown[0]?.parentNode ?? this.#placeItem(list), grown, [item]);
      grown = [];
    }
  }

  /** The element that the next item of a list goes into. */
  #placeItem(list: Tokens.List): HTMLElement {
    const { start = list.start === '' ? 1 : list.start, count = 0 } = this.#list ?? {};
    if (count > 0 && count % PIECE_ITEMS === 0) {
      this.#beginPart();
      this.#part.className = 'goes-on';
    }
    const isFull = count % PIECE_ITEMS === 0;
    const element =
      this.#list && !isFull
        ? this.#list.element
        : this.#part.appendChild(listElement({ ordered: list.ordered, start: start + count }));
    this.#list = { start, element, count: count + 1 };
    return element;
  }

  /** Whether what grows is an item of the list. */
  get #isItem(): boolean {
    return this.#list !== undefined && this.#live[0]?.parentNode === this.#list.element;
  }

  /** Takes away what grew: it turns out to be something else. */
  #drop(): void {
    const list = this.#isItem ? this.#list : undefined;
    for (const node of this.#live) node.parentNode?.removeChild(node);
    this.#live = [];
    if (!list) return;
    list.count--;
    if (!list.element.hasChildNodes()) list.element.remove();
    if (list.count === 0) this.#list = undefined;
  }

  #clear(): void {
    this.#part = document.createElement('div');
    this.#into.replaceChildren(this.#part);
    this.#finished = 0;
    this.#shown = '';
    this.#live = [];
    this.#list = undefined;
    this.#code = undefined;
  }
}

/** Makes the last nodes of a parent, `old`, equal to `made`; what is equal already stays the same node. */
function patchAll(parent: Node, old: readonly Node[], made: readonly Node[]): Node[] {
  const nodes = made.map((node, at) => {
    const before = old[at];
    if (!before) return parent.appendChild(node);
    if (patched(before, node)) return before;
    parent.replaceChild(node, before);
    return node;
  });
  for (const node of old.slice(made.length)) parent.removeChild(node);
  return nodes;
}

/** Makes a node equal to another of its kind; false if it is of another kind. */
function patched(old: Node, made: Node): boolean {
  if (old instanceof Text && made instanceof Text) {
    if (made.data.startsWith(old.data)) {
      // Appended, so that a selection keeps its place.
      if (made.data.length > old.data.length) old.appendData(made.data.slice(old.data.length));
    } else old.data = made.data;
    return true;
  }
  if (!(old instanceof Element && made instanceof Element) || old.tagName !== made.tagName) return false;
  // A control keeps its state, and its listeners their element.
  if (old.tagName === 'BUTTON') return true;
  for (const { name } of [...old.attributes]) if (!made.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of made.attributes)
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  patchAll(old, [...old.childNodes], [...made.childNodes]);
  return true;
}

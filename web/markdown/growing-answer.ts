import type { Tokens } from 'marked';
import { type AnswerToken, blocksOf, type Links } from './lexer.ts';
import { blockNodes, type CodeTools, listItems } from './nodes.ts';

/** Of the time that passes, drawing an unfinished block takes at most one part in so many. */
const PAUSE = 4;
/** Blocks that are drawn faster than this, in milliseconds, are drawn each time. */
const QUICK = 4;

/** Blocks that are laid out and painted together: what changes at the end leaves all parts but the last alone. */
const PART_BLOCKS = 16;

/**
 * An answer's Markdown in an element. Every block is parsed and made once, when the next one begins, so that the time for a token
 * does not grow with the answer; the last block is changed in place, so that what is selected in it stays selected.
 */
export class GrowingAnswer {
  readonly #into: HTMLElement;
  /** The last of the elements that the blocks are in. */
  #part: HTMLElement;
  readonly #tools: CodeTools;
  readonly #links: Links = Object.create(null) as Links;
  /** The characters whose blocks are finished. */
  #finished = 0;
  #shown = '';
  /** The nodes of the block that grows. */
  #live: Node[] = [];
  /** A list that goes on: its finished items are in here. */
  #list: HTMLElement | undefined;
  #pausedUntil = 0;

  constructor(into: HTMLElement, tools: CodeTools) {
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
    this.#grow(text.slice(this.#finished));
    const took = performance.now() - begin;
    this.#pausedUntil = took > QUICK ? begin + took * PAUSE : 0;
  }

  #grow(rest: string): void {
    const tokens = blocksOf(rest, this.#links);
    const last = tokens.findLastIndex(({ type }) => type !== 'space');
    for (const token of tokens.slice(0, Math.max(0, last))) this.#finish(token);
    const live = tokens[last];
    if (live) this.#draw(this.#finishItems(live));
  }

  /** Shows a block for good. */
  #finish(token: AnswerToken): void {
    this.#draw(token);
    if (token.type !== 'space') {
      this.#live = [];
      this.#list = undefined;
      this.#beginPart();
    }
    this.#finished += token.raw.length;
  }

  #beginPart(): void {
    if (this.#part.childElementCount >= PART_BLOCKS)
      this.#part = this.#into.appendChild(document.createElement('div'));
  }

  /** Finishes all items of a list but the last; what is left of the block is returned. */
  #finishItems(token: AnswerToken): AnswerToken {
    if (token.type !== 'list') return token;
    const list = token as Tokens.List;
    const done = list.items.slice(0, -1);
    if (done.length === 0) return token;
    this.#draw({ ...list, items: done });
    this.#list ??= this.#live[0] as HTMLElement;
    this.#live = [];
    this.#finished += done.reduce((length, { raw }) => length + raw.length, 0);
    return { ...list, items: list.items.slice(-1) };
  }

  #draw(token: AnswerToken): void {
    if (token.type === 'space') return;
    const goesOn = this.#list !== undefined && token.type === 'list';
    // A list that goes on takes its items; anything else that follows it stands behind it.
    const parent = goesOn && this.#list ? this.#list : this.#part;
    if (!goesOn && this.#list && this.#live[0]?.parentNode === this.#list) this.#drop();
    const made = goesOn ? listItems(token as Tokens.List, this.#tools) : blockNodes([token], this.#tools);
    this.#live = patchAll(parent, this.#live, made);
  }

  #drop(): void {
    for (const node of this.#live) node.parentNode?.removeChild(node);
    this.#live = [];
  }

  #clear(): void {
    this.#part = document.createElement('div');
    this.#into.replaceChildren(this.#part);
    this.#finished = 0;
    this.#shown = '';
    this.#live = [];
    this.#list = undefined;
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

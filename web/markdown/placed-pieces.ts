import { listElement } from './nodes.ts';

/** Blocks that are laid out and painted together: what changes at the end leaves all parts but the last alone. */
const PART_BLOCKS = 16;
/** Items of a list in one element: a longer list goes on in another one, in a part of its own. */
const PIECE_ITEMS = 32;

/** A list as it was read: its items have the same one. */
export interface ListHead {
  readonly ordered: boolean;
  /** The number of its first item. */
  readonly start: number;
  /** Whether it is the one that the last finished piece is an item of. */
  readonly continues: boolean;
}

/** What is shown as one element of its own: a block, or an item of a list. */
export interface Piece {
  readonly node: Node;
  readonly head: ListHead | undefined;
}

/** A list in the document, in as many elements as it takes. */
interface PlacedList {
  readonly ordered: boolean;
  readonly start: number;
  readonly elements: HTMLElement[];
  /** Items in all of them. */
  count: number;
}

interface PlacedPiece {
  node: Node;
  readonly list: PlacedList | undefined;
}

/** Which lists in the document those are that were read. */
type KnownLists = Map<ListHead, PlacedList>;

/** The pieces of an answer in its element: finished ones, and behind them the live ones, which are changed in place. */
export class PlacedPieces {
  readonly #into: HTMLElement;
  /** The last of the elements that the pieces are in. */
  #part: HTMLElement;
  #live: PlacedPiece[] = [];
  /** The list of the last finished piece. */
  #open: PlacedList | undefined;

  constructor(into: HTMLElement) {
    this.#into = into;
    this.#part = document.createElement('div');
    into.replaceChildren(this.#part);
  }

  get live(): Node[] {
    return this.#live.map(({ node }) => node);
  }

  /** Makes the live pieces equal to these. */
  draw(pieces: readonly Piece[]): void {
    this.#patch(pieces);
    while (this.#live.length > pieces.length) this.#drop();
  }

  /** Makes the first live pieces equal to these, and finishes them; their nodes. */
  finish(pieces: readonly Piece[]): Node[] {
    this.#patch(pieces);
    return this.finishFirst(pieces.length);
  }

  /** Finishes the first live pieces as they are. */
  finishFirst(count: number): Node[] {
    const finished = this.#live.splice(0, count);
    if (finished.length > 0) this.#open = finished.at(-1)?.list;
    return finished.map(({ node }) => node);
  }

  #patch(pieces: readonly Piece[]): void {
    const lists: KnownLists = new Map();
    const other = pieces.findIndex((piece, at) => !this.#reused(this.#live[at], piece, lists));
    if (other < 0) return;
    while (this.#live.length > other) this.#drop();
    for (const piece of pieces.slice(other)) this.#live.push(this.#place(piece, lists));
  }

  /** Makes a live piece equal to another one at the same place; false if that is elsewhere. */
  #reused(live: PlacedPiece | undefined, { node, head }: Piece, lists: KnownLists): boolean {
    if (!live || (live.list === undefined) !== (head === undefined)) return false;
    if (live.list && head) {
      const known = lists.get(head);
      if (known ? known !== live.list : !this.#isSame(live.list, head, lists)) return false;
      lists.set(head, live.list);
    }
    live.node = patched(live.node, node);
    return true;
  }

  #isSame(list: PlacedList, { ordered, start, continues }: ListHead, lists: KnownLists): boolean {
    if (continues || list === this.#open) return continues && list === this.#open;
    return list.ordered === ordered && list.start === start && ![...lists.values()].includes(list);
  }

  #place({ node, head }: Piece, lists: KnownLists): PlacedPiece {
    if (!head) {
      this.#makeRoom();
      this.#part.append(node);
      return { node, list: undefined };
    }
    const { ordered, start, continues } = head;
    const open = continues ? this.#open : undefined;
    const list = lists.get(head) ?? open ?? { ordered, start, elements: [], count: 0 };
    lists.set(head, list);
    if (list.count % PIECE_ITEMS === 0) this.#beginElement(list);
    list.elements.at(-1)?.append(node);
    list.count++;
    return { node, list };
  }

  #beginElement(list: PlacedList): void {
    const { ordered, start, count } = list;
    if (count === 0) this.#makeRoom();
    else {
      this.#beginPart();
      this.#part.className = 'goes-on';
    }
    const element = listElement({ ordered, start: start + count });
    list.elements.push(element);
    this.#part.append(element);
  }

  #makeRoom(): void {
    if (this.#part.childElementCount >= PART_BLOCKS) this.#beginPart();
  }

  #beginPart(): void {
    this.#part = this.#into.appendChild(document.createElement('div'));
  }

  /** Takes away the last piece, and what is empty without it. */
  #drop(): void {
    const { node, list } = this.#live.pop() ?? {};
    node?.parentNode?.removeChild(node);
    if (list) {
      list.count--;
      if (list.elements.at(-1)?.hasChildNodes() === false) list.elements.pop()?.remove();
    }
    for (let before; !this.#part.hasChildNodes(); this.#part = before) {
      before = this.#part.previousElementSibling as HTMLElement | null;
      if (!before) return;
      this.#part.remove();
    }
  }
}

/** A node that is equal to `made`: the old one, as far as it is of its kind. What is equal already stays the same node. */
export function patched(old: Node, made: Node): Node {
  if (isPatched(old, made)) return old;
  old.parentNode?.replaceChild(made, old);
  return made;
}

/** Makes a node equal to another of its kind; false if it is of another kind. */
function isPatched(old: Node, made: Node): boolean {
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
  patchChildren(old, [...made.childNodes]);
  return true;
}

function patchChildren(parent: Element, made: readonly Node[]): void {
  const old = [...parent.childNodes];
  for (const [at, node] of made.entries()) {
    const before = old[at];
    if (before) patched(before, node);
    else parent.append(node);
  }
  for (const node of old.slice(made.length)) node.remove();
}

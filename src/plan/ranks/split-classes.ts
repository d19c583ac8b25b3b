import { invariant } from '../../base/errors.ts';
import type { State, Tensor } from '../../ops/index.ts';

/** Something that ranks have pieces of: a tensor, a state, or a section of a tensor. */
export type Node = Tensor | State | Section;

/** Some columns of each repetition of a tensor, which are cut on their own: queries in a tensor of queries, keys and values. */
export interface Section {
  readonly kind: 'section';
  readonly offset: number;
  readonly width: number;
  /** How often so many columns follow one another, each of which is cut alike. Default 1. */
  readonly times?: number;
}

/** From part `start` up to part `end`, of `of` equal parts. */
export interface Piece {
  readonly start: number;
  readonly end: number;
  readonly of: number;
}

/** Key heads that fewer query heads than a rank's share read, so that several ranks have the same ones. */
interface SharedHeads {
  readonly queries: Node;
  readonly keys: Node;
  readonly kvHeads: number;
}

/** What is known of values that are cut alike. */
interface Class {
  /** Into how many equal parts all of them can be cut. */
  parts: number;
}

/**
 * Values that are cut alike, and into how many equal parts they can be cut: what operators say of their operands. Whole values have
 * one part.
 */
export class SplitClasses {
  readonly #parents = new Map<Node, Node>();
  readonly #classes = new Map<Node, Class>();
  readonly #shared: SharedHeads[] = [];
  readonly #pieces = new Map<Node, readonly Piece[]>();

  constructor(readonly ranks: number) {}

  /** These are cut alike. */
  same(...nodes: readonly Node[]): void {
    const [first, ...others] = nodes.map((node) => this.#rootOf(node));
    for (const other of others) {
      const root = first && this.#rootOf(first);
      const from = this.#rootOf(other);
      if (!root || root === from) continue;
      this.#parents.set(from, root);
      const [into, gone] = [this.#classOf(root), this.#classOf(from)];
      into.parts = commonDivisor(into.parts, gone.parts);
    }
  }

  /** This can be cut into `parts` equal parts, or fewer by which that is divisible. */
  divides(node: Node, parts: number): void {
    const own = this.#classOf(this.#rootOf(node));
    own.parts = Number.isInteger(parts) ? commonDivisor(own.parts, parts) : 1;
  }

  /** These are not cut. */
  whole(...nodes: readonly Node[]): void {
    for (const node of nodes) this.divides(node, 1);
  }

  /** Queries are cut finer than key heads: ranks that read the same key heads have all of these. */
  shareHeads(of: SharedHeads): void {
    this.#shared.push(of);
  }

  /** The value that stands for all that are cut like this one; another one as soon as more are. */
  standFor(node: Node): Node {
    return this.#rootOf(node);
  }

  /** Whether every rank gets a part. */
  isSplit(node: Node): boolean {
    return this.#areEnough(node, this.#classOf(this.#rootOf(node)).parts);
  }

  /** Restricts a split value to `parts` parts if that leaves one for every rank; false otherwise. */
  narrow(node: Node, parts: number): boolean {
    const own = this.#classOf(this.#rootOf(node));
    const fewer = Number.isInteger(parts) ? commonDivisor(own.parts, parts) : 1;
    if (!this.#areEnough(node, fewer)) return false;
    own.parts = fewer;
    return true;
  }

  /** Deals the parts out to the ranks; nothing is said of values after that. */
  deal(): void {
    for (const root of this.#classes.keys()) {
      if (this.#rootOf(root) !== root) continue;
      const { parts } = this.#classOf(root);
      this.#pieces.set(root, this.isSplit(root) ? dealt(parts, this.ranks) : allOf(this.ranks));
    }
    for (const { queries, keys, kvHeads } of this.#shared) {
      const root = this.#rootOf(queries);
      if (!this.isSplit(root)) continue;
      const { parts } = this.#classOf(root);
      const { fine, coarse } = dealtByHead(parts, kvHeads, this.ranks);
      this.#pieces.set(root, fine);
      this.#pieces.set(this.#rootOf(keys), coarse);
    }
  }

  /** The piece of each rank. */
  piecesOf(node: Node): readonly Piece[] {
    return this.#pieces.get(this.#rootOf(node)) ?? allOf(this.ranks);
  }

  /** Whether several ranks may have the same piece of it. */
  isShared(node: Node): boolean {
    const root = this.#rootOf(node);
    return this.#shared.some(({ keys }) => this.#rootOf(keys) === root);
  }

  #areEnough(node: Node, parts: number): boolean {
    if (this.isShared(node)) return false;
    const root = this.#rootOf(node);
    const shared = this.#shared.filter(({ queries }) => this.#rootOf(queries) === root);
    return (
      parts >= this.ranks &&
      shared.every(({ kvHeads, keys }) => {
        const ofKeys = this.#classOf(this.#rootOf(keys)).parts;
        const each = parts / kvHeads;
        return ofKeys % kvHeads === 0 && Number.isInteger(each) && each >= Math.ceil(this.ranks / kvHeads);
      })
    );
  }

  #rootOf(node: Node): Node {
    let root = node;
    for (let up = this.#parents.get(root); up; up = this.#parents.get(root)) root = up;
    return root;
  }

  #classOf(root: Node): Class {
    const known = this.#classes.get(root);
    if (known) return known;
    const made = { parts: widthOf(root) };
    this.#classes.set(root, made);
    return made;
  }
}

/** Columns of one repetition; the repetitions of a tensor are counted by who says how it is cut. */
function widthOf({ width }: Node): number {
  invariant(width > 0, 'a value has columns');
  return width;
}

/** Every rank has all of it. */
function allOf(ranks: number): Piece[] {
  return Array.from({ length: ranks }, () => ({ start: 0, end: 1, of: 1 }));
}

/** As even as possible, the larger pieces first: rank 0 has as much as any. */
export function dealt(parts: number, ranks: number, of = parts, first = 0): Piece[] {
  const [each, more] = [Math.floor(parts / ranks), parts % ranks];
  return Array.from({ length: ranks }, (_, rank) => {
    const start = first + rank * each + Math.min(rank, more);
    return { start, end: start + each + (rank < more ? 1 : 0), of };
  });
}

/** Each key head goes to some ranks, fewer of them for the first heads, which deal its query heads out among each other. */
function dealtByHead(parts: number, kvHeads: number, ranks: number) {
  const fine: Piece[] = [];
  const coarse: Piece[] = [];
  const each = parts / kvHeads;
  for (let head = 0; head < kvHeads; head++) {
    const more = head >= kvHeads - (ranks % kvHeads) ? 1 : 0;
    const readers = Math.floor(ranks / kvHeads) + more;
    fine.push(...dealt(each, readers, parts, head * each));
    coarse.push(...Array.from({ length: readers }, () => ({ start: head, end: head + 1, of: kvHeads })));
  }
  return { fine, coarse };
}

function commonDivisor(a: number, b: number): number {
  return b === 0 ? a : commonDivisor(b, a % b);
}

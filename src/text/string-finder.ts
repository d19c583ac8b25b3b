import type { Steps } from '../base/turns.ts';
import { IntPairMap } from './int-pair-map.ts';

/** UTF-16 units processed between two pauses. */
const AT_ONCE = 1 << 16;
const ROOT = 0;
const NONE = -1;

/**
 * Finds which of many strings a text contains, in one pass over the text however many there are (Aho and Corasick
 * 1975): a prefix tree of UTF-16 units, in which each node knows its longest proper suffix that is also a node.
 */
export class StringFinder {
  /** From a node and a unit to the next node; the root's by unit alone, since most units of a text start no string. */
  readonly #edges: IntPairMap;
  readonly #first = new Int32Array(1 << 16);
  /** For each node, the node of its longest proper suffix. */
  readonly #suffix: Int32Array;
  /** For each node, the string that ends there, and the longest proper suffix with such a string. */
  readonly #ending: Int32Array;
  readonly #shorter: Int32Array;

  /** The strings must be distinct. An empty one is never found. */
  constructor(strings: readonly string[]) {
    const most = 1 + strings.reduce((sum, { length }) => sum + length, 0);
    this.#edges = new IntPairMap(most);
    this.#suffix = new Int32Array(most);
    this.#ending = new Int32Array(most).fill(NONE);
    this.#shorter = new Int32Array(most).fill(NONE);
    this.#link(this.#grow(strings));
  }

  /** Indices of the strings that the text contains, unordered. */
  *find(text: string): Steps<Set<number>> {
    const found = new Set<number>();
    let node = ROOT;
    for (let i = 0; i < text.length; i++) {
      if (i % AT_ONCE === AT_ONCE - 1) yield;
      node = this.#next(node, text.charCodeAt(i));
      if (node === ROOT) continue;
      // When a string was found, all its suffixes were, too.
      let end = node;
      while (end !== NONE) {
        const index = this.#ending[end] as number;
        if (found.has(index)) break;
        if (index !== NONE) found.add(index);
        end = this.#shorter[end] as number;
      }
    }
    return found;
  }

  #edge(node: number, unit: number): number {
    if (node === ROOT) return this.#first[unit] || NONE;
    return this.#edges.get(node, unit);
  }

  /** The node of the longest suffix of the text so far. */
  #next(from: number, unit: number): number {
    let node = from;
    for (;;) {
      const next = this.#edge(node, unit);
      if (next !== NONE) return next;
      if (node === ROOT) return ROOT;
      node = this.#suffix[node] as number;
    }
  }

  /** Builds the tree; returns each node's parent and unit, shallow ones first. */
  #grow(strings: readonly string[]): [node: number, parent: number, unit: number][] {
    const levels: [number, number, number][][] = [];
    let count = 1;
    for (const [index, text] of strings.entries()) {
      let node = ROOT;
      for (let depth = 0; depth < text.length; depth++) {
        const unit = text.charCodeAt(depth);
        let next = this.#edge(node, unit);
        if (next === NONE) {
          next = count++;
          if (node === ROOT) this.#first[unit] = next;
          else this.#edges.set(node, unit, next);
          (levels[depth] ??= []).push([next, node, unit]);
        }
        node = next;
      }
      if (node !== ROOT) this.#ending[node] = index;
    }
    return levels.flat();
  }

  #link(nodes: readonly (readonly [number, number, number])[]): void {
    for (const [node, parent, unit] of nodes) {
      const suffix = parent === ROOT ? ROOT : this.#next(this.#suffix[parent] as number, unit);
      this.#suffix[node] = suffix;
      this.#shorter[node] = this.#ending[suffix] === NONE ? (this.#shorter[suffix] as number) : suffix;
    }
  }
}

import { IntPairMap } from './int-pair-map.ts';

/** A prefix tree over bytes; each key carries an id. Node 0 is the root. */
export class ByteTrie {
  readonly #edges: IntPairMap;
  readonly #ids: number[] = [-1];

  constructor(expectedNodes: number) {
    this.#edges = new IntPairMap(expectedNodes);
  }

  /** A later key equal to an earlier one is ignored, as is an empty one. */
  insert(key: Uint8Array, id: number): void {
    if (key.length === 0) return;
    let node = 0;
    for (const byte of key) {
      let next = this.#edges.get(node, byte);
      if (next < 0) {
        next = this.#ids.push(-1) - 1;
        this.#edges.set(node, byte, next);
      }
      node = next;
    }
    if (this.#ids[node] === -1) this.#ids[node] = id;
  }

  /** The node after one more byte, or -1. */
  next(node: number, byte: number): number {
    return this.#edges.get(node, byte);
  }

  /** The id of the key that ends at a node, or -1. */
  idAt(node: number): number {
    return this.#ids[node] as number;
  }

  /** The longest key in `bytes` at `offset`: its id and length, or length 0 if there is none. */
  longest(bytes: Uint8Array, offset: number): { id: number; length: number } {
    let node = 0;
    const best = { id: -1, length: 0 };
    for (let i = offset; i < bytes.length; i++) {
      node = this.next(node, bytes[i] as number);
      if (node < 0) break;
      const id = this.idAt(node);
      if (id >= 0) {
        best.id = id;
        best.length = i - offset + 1;
      }
    }
    return best;
  }
}

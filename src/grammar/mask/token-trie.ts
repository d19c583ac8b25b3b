import type { GrammarVocabulary } from '../vocabulary.ts';

const NONE = -1;

/**
 * The tokens' bytes as a trie in preorder: each node is followed by its descendants. Node 0 is the root, which has no
 * byte.
 */
export class TokenTrie {
  /** By node: the byte that leads to it. */
  readonly bytes: Uint8Array;
  /** By node: the number of bytes that lead to it. */
  readonly depths: Uint16Array;
  /** By node: the first node after its subtree. */
  readonly ends: Int32Array;
  /**
   * By node, with one more at the end: the number of tokens at earlier nodes; a node's tokens lie between its entry and
   * the next.
   */
  readonly firstTokens: Int32Array;
  /** Ids in node order. */
  readonly tokens: Int32Array;
  readonly deepest: number;

  /** The trie of these ids; tokens without bytes are left out. */
  constructor(vocabulary: GrammarVocabulary, ids: readonly number[]) {
    const draft = new Draft(vocabulary, ids);
    const count = draft.size;
    this.bytes = new Uint8Array(count);
    this.depths = new Uint16Array(count);
    this.ends = new Int32Array(count);
    this.firstTokens = new Int32Array(count + 1);
    this.tokens = new Int32Array(draft.tokens);
    const open: number[] = [];
    let node = 0;
    let token = 0;
    let deepest = 0;
    const stack = [0];
    for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
      if (at < 0) {
        this.ends[open.pop() as number] = node;
        continue;
      }
      this.bytes[node] = draft.byte[at] as number;
      this.depths[node] = open.length;
      deepest = Math.max(deepest, open.length);
      this.firstTokens[node] = token;
      for (let id = draft.token[at] as number; id !== NONE; id = draft.nextToken[id] as number) {
        this.tokens[token++] = id;
      }
      open.push(node++);
      stack.push(NONE);
      for (let child = draft.child[at] as number; child !== NONE; child = draft.sibling[child] as number) {
        stack.push(child);
      }
    }
    this.firstTokens[node] = token;
    this.deepest = deepest;
  }

  /** True when a token ends at a node. */
  hasToken(node: number): boolean {
    return this.firstTokens[node + 1] !== this.firstTokens[node];
  }

  /** A token at a node or below it; its first bytes lead to the node. */
  tokenUnder(node: number): number {
    return this.tokens[this.firstTokens[node] as number] as number;
  }
}

/** A trie under construction, with a hash table from node and byte to child. */
class Draft {
  readonly byte: Int32Array;
  readonly child: Int32Array;
  readonly sibling: Int32Array;
  /** By node: its last token; by token: the previous one at the same node. */
  readonly token: Int32Array;
  readonly nextToken: Int32Array;
  readonly #slots: Int32Array;
  readonly #parents: Int32Array;
  size = 1;
  tokens = 0;

  constructor(vocabulary: GrammarVocabulary, ids: readonly number[]) {
    const spelled = ids.map((id) => vocabulary.bytes(id));
    const most = spelled.reduce((sum, bytes) => sum + bytes.length, 1);
    this.byte = new Int32Array(most);
    this.child = new Int32Array(most).fill(NONE);
    this.sibling = new Int32Array(most).fill(NONE);
    this.token = new Int32Array(most).fill(NONE);
    this.nextToken = new Int32Array(vocabulary.size).fill(NONE);
    this.#parents = new Int32Array(most);
    this.#slots = new Int32Array(2 ** Math.ceil(Math.log2(most * 2 + 2))).fill(NONE);
    for (const [i, bytes] of spelled.entries()) {
      if (bytes.length > 0) this.#add(ids[i] as number, bytes);
    }
  }

  #add(id: number, bytes: Uint8Array): void {
    let node = 0;
    for (const byte of bytes) node = this.#behind(node, byte);
    this.nextToken[id] = this.token[node] as number;
    this.token[node] = id;
    this.tokens++;
  }

  #behind(parent: number, byte: number): number {
    const mask = this.#slots.length - 1;
    let slot = (Math.imul(parent * 256 + byte, 0x9e3779b1) >>> 8) & mask;
    for (; this.#slots[slot] !== NONE; slot = (slot + 1) & mask) {
      const node = this.#slots[slot] as number;
      if (this.#parents[node] === parent && this.byte[node] === byte) return node;
    }
    const node = this.size++;
    this.#slots[slot] = node;
    this.#parents[node] = parent;
    this.byte[node] = byte;
    this.sibling[node] = this.child[parent] as number;
    this.child[parent] = node;
    return node;
  }
}

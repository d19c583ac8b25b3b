import { KV_BLOCK_SIZE } from '../../model/state-groups.ts';
import { blockHash, lineageHash } from '../../state/block-hash.ts';
import type { BlockEvent } from '../../state/held-blocks.ts';

/** The prompt of a text, and what its state depends on besides (`lineageOf`). */
export interface RoutedPrompt {
  readonly ids: readonly number[];
  readonly lineage?: string | undefined;
}

/** What the router knows of one of the engines. */
class Replica {
  isHere = true;
  /** The blocks of texts that it can reuse (`blockHash`). */
  readonly held = new Set<bigint>();
  /** Of its running and waiting texts: how many there are, and the tokens of their prompts. */
  texts = 0;
  tokens = 0;
  /** When it was chosen last. */
  chosen = 0;
}

/**
 * Which of several engines with the same model takes a text: the one where the tokens to compute, behind the longest prefix that it
 * can reuse, and the tokens of the texts that it has already, are fewest together. Prefixes are known exactly, from the engines'
 * own events. (NVIDIA Dynamo calls it KV-aware routing, and has the same cost function with its weight of overlaps at 1.)
 */
export class ReplicaRouter {
  readonly #replicas: readonly Replica[];
  #choices = 0;

  constructor(count: number) {
    this.#replicas = Array.from({ length: count }, () => new Replica());
  }

  /** Takes in what an engine tells of its prompt cache. */
  learn(replica: number, events: readonly BlockEvent[]): void {
    const { held } = this.#at(replica);
    for (const event of events) {
      if (event.kind === 'stored') for (const hash of event.hashes) held.add(hash);
      else if (event.kind === 'removed') for (const hash of event.hashes) held.delete(hash);
      else held.clear();
    }
  }

  /** The engine is gone: it takes no texts, and what it held is lost. */
  leave(replica: number): void {
    const left = this.#at(replica);
    left.isHere = false;
    left.held.clear();
  }

  /** The engine takes texts again. */
  join(replica: number): void {
    this.#at(replica).isHere = true;
  }

  isHere(replica: number): boolean {
    return this.#at(replica).isHere;
  }

  /** The engine for a text; undefined if all are gone. Among equals the one that has the fewest texts, then the one that waited longest. */
  choose(prompt: RoutedPrompt): number | undefined {
    const cached = this.#cachedTokens(prompt);
    const rank = (at: number) => {
      const { tokens, texts, chosen } = this.#at(at);
      return [prompt.ids.length - (cached[at] as number) + tokens, texts, chosen] as const;
    };
    const [best] = [...this.#replicas.keys()].filter((at) => this.isHere(at)).sort(byRank(rank));
    if (best !== undefined) this.#at(best).chosen = ++this.#choices;
    return best;
  }

  /** Counts a text as one of an engine's, until the function that it returns is called; later calls of that do nothing. */
  count(replica: number, tokens: number): () => void {
    const at = this.#at(replica);
    at.texts++;
    at.tokens += tokens;
    let isCounted = true;
    return () => {
      if (!isCounted) return;
      isCounted = false;
      at.texts--;
      at.tokens -= tokens;
    };
  }

  /** How many tokens of a prompt each engine can reuse. Blocks are hashed only as far as some engine has them. */
  #cachedTokens({ ids, lineage }: RoutedPrompt): number[] {
    const cached = this.#replicas.map(() => 0);
    let parent = lineage === undefined ? undefined : lineageHash(lineage);
    let holders = [...this.#replicas.keys()].filter((at) => this.#at(at).held.size > 0);
    for (let end = KV_BLOCK_SIZE; end <= ids.length && holders.length > 0; end += KV_BLOCK_SIZE) {
      const block = ids.slice(end - KV_BLOCK_SIZE, end);
      // Negative ids stand for vectors, which have no hash.
      if (block.some((id) => id < 0)) break;
      const hash = blockHash(parent, block);
      holders = holders.filter((at) => this.#at(at).held.has(hash));
      for (const at of holders) cached[at] = end;
      parent = hash;
    }
    return cached;
  }

  #at(replica: number): Replica {
    return this.#replicas[replica] as Replica;
  }
}

/** Orders by the first number in which two ranks differ. */
function byRank(rank: (at: number) => readonly number[]): (a: number, b: number) => number {
  return (a, b) => {
    const others = rank(b);
    for (const [at, value] of rank(a).entries()) {
      const difference = value - (others[at] as number);
      if (difference !== 0) return difference;
    }
    return 0;
  };
}

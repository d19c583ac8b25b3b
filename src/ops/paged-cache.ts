import type { State, Tensor } from './value.ts';

/**
 * A paged cache of keys or values: positions `i * blockSize ...` of a slot's sequence are in the cells of block
 * `blocks[slot, i]`, so `cell(slot, p) = blocks[slot, p / blockSize] * blockSize + p % blockSize`. If one of them is in
 * blocks, the other may be of any type of cache; otherwise both are of one type.
 */
export interface PagedCache {
  readonly keys: State;
  /**
   * Undefined if values are not stored: a head's values are the first elements of its keys (the latent cache of
   * DeepSeek-V2).
   */
  readonly values: State | undefined;
  /**
   * The block table by which its positions are found, i32 [slots, blocksPerSlot]: the batch's, unless the model has
   * several. Attention to chosen positions has one of its own, with a row of cells for each token row.
   */
  readonly blocks: Tensor;
  readonly blockSize: number;
}

/**
 * True if kernels decode keys and values each by their own type: if the two differ, or a block has fewer than eight bits an
 * element.
 */
export function decodesApart({ keys, values }: Pick<PagedCache, 'keys' | 'values'>): boolean {
  return keys.type === 'q4_0' || keys.type === 'q5_1' || (values !== undefined && values.type !== keys.type);
}

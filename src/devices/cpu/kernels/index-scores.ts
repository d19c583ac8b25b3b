/** Scores of positions by an indexer's heads, whose keys are cells of a paged cache. */
import { scoreFour } from './attention';
import { widenHalves } from './half';
import { decodeStateBlocks } from './state-blocks';

/** Types of a cell's elements; f32 is 0. */
const F16: u32 = 1;

/** Positions at a time: addresses of their keys, and then the keys themselves where they are widened. */
const TOGETHER: u32 = 4;
const ADDRESSES: usize = 16;

/** Stores the first `count` of four scores. */
@inline
function storeScores(at: usize, scores: v128, count: u32): void {
  if (count >= TOGETHER) v128.store(at, scores);
  else {
    store<f32>(at, f32x4.extract_lane(scores, 0));
    if (count > 1) store<f32>(at + 4, f32x4.extract_lane(scores, 1));
    if (count > 2) store<f32>(at + 8, f32x4.extract_lane(scores, 2));
  }
}

/**
 * `out[p] = sum over heads of weights[h] * max(0, q[h] · key[p])` for positions `begin` to `end - 1`; without `weights`, the
 * products of head h stand at `out + h * stride`. A cell has `size`
 * elements, a multiple of 4, of `type`, and `scaleBytes` of scales where they are blocks. `scratch` takes 16 * (1 + size) bytes.
 */
export function indexScores(q: usize, weights: usize, keys: usize, scales: usize, out: usize, blocks: usize, blockSize: u32, heads: u32, size: u32, type: u32, cellBytes: u32, scaleBytes: u32, begin: u32, end: u32, scratch: usize, stride: u32): void {
  for (let first = begin; first < end; first += TOGETHER) {
    let buffer = scratch + ADDRESSES;
    for (let i: u32 = 0; i < TOGETHER; i++) {
      const position = min<u32>(first + i, end - 1);
      const block = load<u32>(blocks + ((position / blockSize) << 2));
      const index = <usize>(block * blockSize + (position % blockSize));
      const cell = keys + index * cellBytes;
      store<usize>(scratch + (i << 2), type ? buffer : cell);
      if (type == F16) {
        for (let d: u32 = 0; d < size; d += 4) v128.store(buffer + (d << 2), widenHalves(cell + (d << 1)));
      } else if (type) decodeStateBlocks(cell, scales + index * scaleBytes, buffer, size);
      buffer += size << 2;
    }
    let sum = f32x4.splat(0);
    for (let h: u32 = 0; h < heads; h++) {
      const products = scoreFour(q + (<usize>(h * size) << 2), scratch, size);
      if (weights) {
        sum = f32x4.add(sum, f32x4.mul(v128.load32_splat(weights + (h << 2)), f32x4.max(products, f32x4.splat(0))));
      } else storeScores(out + <usize>h * stride + (first << 2), products, end - first);
    }
    if (weights) storeScores(out + (first << 2), sum, end - first);
  }
}

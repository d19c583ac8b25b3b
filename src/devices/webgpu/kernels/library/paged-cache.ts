import { HALVES } from './halves.ts';

/** Where a slot's position lies in the cache; wants `blocks`, `BLOCKS_PER_SLOT` and `BLOCK_SIZE`. */
export const PAGED_CACHE = /* wgsl */ `
fn cell_of(slot: u32, position: u32) -> u32 {
  return u32(blocks[slot * BLOCKS_PER_SLOT + position / BLOCK_SIZE]) * BLOCK_SIZE + position % BLOCK_SIZE;
}
`;

/** `UNIT` elements make a word of the cache: one of f32 as it is, two of f16. */
const FLOAT_WORDS = /* wgsl */ `
const UNIT = 1u;
fn cache_word(first: f32, second: f32) -> u32 { return bitcast<u32>(first); }
fn from_cache(word: u32) -> vec2<f32> { return vec2<f32>(bitcast<f32>(word), 0.0); }
`;

const HALF_WORDS = /* wgsl */ `
const UNIT = 2u;
fn cache_word(first: f32, second: f32) -> u32 { return float_to_half(first) | (float_to_half(second) << 16u); }
fn from_cache(word: u32) -> vec2<f32> { return halves_of(word); }
`;

/** `UNIT`, `cache_word` and `from_cache` for a cache of that type. */
export function cacheTexts(type: 'f16' | 'f32'): readonly string[] {
  return type === 'f16' ? [HALVES, HALF_WORDS] : [FLOAT_WORDS];
}

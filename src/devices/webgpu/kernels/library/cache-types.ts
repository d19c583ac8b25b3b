/**
 * Caches whose keys and values are decoded each by a type of their own. Elements are taken four at a time, whatever their type;
 * blocks are laid out as `STATE_BLOCKS` says.
 */
import type { BlockType } from '../../../../ops/index.ts';

/** How a cache's elements are stored. */
export type CellType = 'f32' | 'f16' | BlockType;

type Cache = 'keys' | 'values';

const scalesAt = (cache: Cache) => `${cache.toUpperCase()}_SCALES_AT`;

/** The half of block `at / 8`, which shares a word with its neighbour. */
const scaleText = (cache: Cache) =>
  `half_to_float((${cache}[${scalesAt(cache)} + at / 16u] >> (at / 8u % 2u * 16u)) & 0xffffu)`;

/** Four elements from element `4 * at` on. */
const FOUR: Readonly<Record<CellType, (cache: Cache) => string>> = {
  f32: (cache) => `
  return vec4<f32>(bitcast<f32>(${cache}[4u * at]), bitcast<f32>(${cache}[4u * at + 1u]),
                   bitcast<f32>(${cache}[4u * at + 2u]), bitcast<f32>(${cache}[4u * at + 3u]));`,
  f16: (cache) => `
  return vec4<f32>(unpack_half2(${cache}[2u * at]), unpack_half2(${cache}[2u * at + 1u]));`,
  q8_0: (cache) => `
  return quants_of(${cache}[at]) * ${scaleText(cache)};`,
  q4_0: (cache) => `
  return (nibbles_of(${cache}[at / 2u] >> (at % 2u * 16u)) - 8.0) * ${scaleText(cache)};`,
  q5_1: (cache) => `
  let scale = ${scalesAt(cache)} + at / 8u * 2u;
  let fifths = (vec4<u32>(${cache}[scale + 1u] >> (at % 8u * 4u)) >> vec4<u32>(0u, 1u, 2u, 3u)) & vec4<u32>(1u);
  let levels = nibbles_of(${cache}[at / 2u] >> (at % 2u * 16u)) + 16.0 * vec4<f32>(fifths);
  let range = unpack_half2(${cache}[scale]);
  return levels * range.x + range.y;`,
};

const NIBBLES_OF = /* wgsl */ `
fn nibbles_of(word: u32) -> vec4<f32> { return vec4<f32>((vec4<u32>(word) >> vec4<u32>(0u, 4u, 8u, 12u)) & vec4<u32>(15u)); }
`;

/** `key_unit` and `value_unit`, of four elements each. */
export function apartUnits(of: {
  readonly keyType: CellType;
  readonly valueType: CellType;
  readonly values: Cache;
}): string {
  return /* wgsl */ `
const UNIT = 4u;
alias Unit = vec4<f32>;
${NIBBLES_OF}
fn key_unit(at: u32) -> Unit {${FOUR[of.keyType]('keys')}
}
fn value_unit(at: u32) -> Unit {${FOUR[of.valueType](of.values)}
}
`;
}

/** The product of a unit of four with queries, and sums into their place. */
export const UNIT_OPERATIONS = /* wgsl */ `
fn plus_product(sum: f32, at: u32, key: Unit) -> f32 {
  let query = vec4<f32>(queries[at], queries[at + 1u], queries[at + 2u], queries[at + 3u]);
  return sum + dot(query, key);
}
fn store_unit(at: u32, sums: Unit) {
  for (var i = 0u; i < 4u; i++) { queries[at + i] = sums[i]; }
}
fn stored_unit(at: u32) -> Unit { return Unit(queries[at], queries[at + 1u], queries[at + 2u], queries[at + 3u]); }
`;

/** Octets of halves out of units. */
export const APART_OCTETS = /* wgsl */ `
fn key_octet(at: u32) -> vec4<u32> { return vec4<u32>(halves(key_unit(2u * at)), halves(key_unit(2u * at + 1u))); }
fn value_octet(at: u32) -> vec4<u32> { return vec4<u32>(halves(value_unit(2u * at)), halves(value_unit(2u * at + 1u))); }
`;

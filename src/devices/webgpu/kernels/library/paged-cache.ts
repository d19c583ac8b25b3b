import { HALVES } from './halves.ts';
import { PRECISE } from './precise.ts';
import { BLOCK_VALUES, QUANTIZE_BLOCKS, QUANTS_OF, storeBlocksText } from './state-blocks.ts';
import { APART_OCTETS, apartUnits, type CellType, UNIT_OPERATIONS } from './cache-types.ts';

/** The binding in which values are: their own, or that of the keys whose first elements they are. */
export type ValuesIn = 'values' | 'keys';

/** How a cache is stored: keys and values alike, or each in a way of its own. */
export interface CacheForm {
  readonly type: 'f32' | 'f16' | 'q8_0' | 'apart';
  readonly keyType: CellType;
  readonly valueType: CellType;
  readonly values: ValuesIn;
}

/** Where a slot's position lies in the cache; requires `blocks`, `BLOCKS_PER_SLOT` and `BLOCK_SIZE`. */
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
fn from_cache(word: u32) -> vec2<f32> { return unpack_half2(word); }
`;

/** `UNIT`, `cache_word` and `from_cache` for a cache whose elements stand by themselves. */
export function cacheTexts(type: 'f32' | 'f16'): readonly string[] {
  return type === 'f16' ? [HALVES, HALF_WORDS] : [FLOAT_WORDS];
}

/** What stores blocks of a q8_0 cache: `store_keys` and `store_values`, as far as they are wanted. */
export function blockTexts(...caches: readonly ('keys' | 'values')[]): readonly string[] {
  const types = Object.fromEntries(caches.map((cache) => [cache, 'q8_0' as const]));
  return storeTexts(types);
}

/** The same for caches of these types, 32 elements at once whatever the type. */
export function storeTexts(types: {
  readonly keys?: CellType | undefined;
  readonly values?: CellType | undefined;
}): readonly string[] {
  const { keys, values } = types;
  return [
    ...[HALVES, PRECISE, BLOCK_VALUES, QUANTIZE_BLOCKS],
    ...(keys ? [storeBlocksText('keys', keys)] : []),
    ...(values ? [storeBlocksText('values', values)] : []),
  ];
}

/**
 * What attention reads of a cache: a word as a `Unit` of `UNIT` elements, `key_unit` and `value_unit`; its product with as
 * many of `queries`; and its sums into their place. Values may be among the keys.
 */
export function unitTexts(cache: CacheForm): readonly string[] {
  const { type, values } = cache;
  if (type === 'apart') return [HALVES, QUANTS_OF, apartUnits(cache), UNIT_OPERATIONS];
  if (type === 'q8_0') return [HALVES, QUANTS_OF, blockUnits(values), UNIT_OPERATIONS];
  return [...cacheTexts(type), pairUnits(values)];
}

/**
 * What attention of single rows reads of a cache, `load_queries` into workgroup memory first. A word of values is loaded by `raw_value` and
 * decoded by `unit_of`, so that nobody has to wait for it in between. In the end the memory holds sums: `store_unit`, `stored_unit`
 * and `stored_float`.
 */
export function attentionUnitTexts(cache: CacheForm, octets: boolean): readonly string[] {
  if (octets) return [HALVES, octetUnits(cache.values)];
  const raw = cache.type === 'f32' || cache.type === 'f16' ? rawWords(cache.values) : RAW_UNITS;
  return [...unitTexts(cache), raw, FLOAT_QUERIES];
}

const FLOAT_QUERIES = /* wgsl */ `
var<workgroup> queries: array<f32, SHARED_FLOATS>;
fn load_queries(origin: u32, used_heads: u32, scale: f32, thread: u32) {
  for (var i = thread; i < HEADS * KEY; i += 128u) {
    let h = select(0u, i / KEY, i / KEY < used_heads);
    queries[i] = q[origin + h * KEY + i % KEY] * scale;
  }
}
fn stored_float(at: u32) -> f32 { return queries[at]; }
`;

const RAW_UNITS = /* wgsl */ `
alias RawUnit = Unit;
fn raw_value(at: u32) -> RawUnit { return value_unit(at); }
fn unit_of(raw: RawUnit) -> Unit { return raw; }
`;

const rawWords = (values: ValuesIn): string => /* wgsl */ `
alias RawUnit = u32;
fn raw_value(at: u32) -> RawUnit { return ${values}[at]; }
fn unit_of(raw: RawUnit) -> Unit { return from_cache(raw); }
`;

/** Eight halves at once, queries in vectors of four. */
const octetUnits = (values: ValuesIn): string => /* wgsl */ `
const UNIT = 8u;
alias Unit = mat2x4<f32>;
alias RawUnit = vec4<u32>;
var<workgroup> queries: array<vec4<f32>, SHARED_FLOATS / 4u>;
fn load_queries(origin: u32, used_heads: u32, scale: f32, thread: u32) {
  for (var i = thread; i < HEADS * KEY / 4u; i += 128u) {
    let h = i / (KEY / 4u);
    let at = origin + select(0u, h, h < used_heads) * KEY + 4u * (i % (KEY / 4u));
    queries[i] = vec4<f32>(q[at], q[at + 1u], q[at + 2u], q[at + 3u]) * scale;
  }
}
fn raw_value(at: u32) -> RawUnit { return ${values}[at]; }
fn unit_of(raw: RawUnit) -> Unit {
  return Unit(vec4<f32>(unpack_half2(raw.x), unpack_half2(raw.y)), vec4<f32>(unpack_half2(raw.z), unpack_half2(raw.w)));
}
fn key_unit(at: u32) -> Unit { return unit_of(keys[at]); }
fn plus_product(sum: f32, at: u32, key: Unit) -> f32 {
  return sum + (dot(queries[at / 4u], key[0]) + dot(queries[at / 4u + 1u], key[1]));
}
fn store_unit(at: u32, sums: Unit) {
  queries[at / 4u] = sums[0];
  queries[at / 4u + 1u] = sums[1];
}
fn stored_unit(at: u32) -> Unit { return Unit(queries[at / 4u], queries[at / 4u + 1u]); }
fn stored_float(at: u32) -> f32 { return queries[at / 4u][at % 4u]; }
`;

const pairUnits = (values: ValuesIn): string => /* wgsl */ `
alias Unit = vec2<f32>;
fn key_unit(at: u32) -> Unit { return from_cache(keys[at]); }
fn value_unit(at: u32) -> Unit { return from_cache(${values}[at]); }
fn plus_product(sum: f32, at: u32, key: Unit) -> f32 {
  let first = fma(queries[at], key.x, sum);
  if (UNIT == 2u) { return fma(queries[at + 1u], key.y, first); }
  return first;
}
fn store_unit(at: u32, sums: Unit) {
  queries[at] = sums.x;
  if (UNIT == 2u) { queries[at + 1u] = sums.y; }
}
fn stored_unit(at: u32) -> Unit {
  if (UNIT == 2u) { return Unit(queries[at], queries[at + 1u]); }
  return Unit(queries[at], 0.0);
}
`;

const blockUnits = (values: ValuesIn): string => /* wgsl */ `
const UNIT = 4u;
alias Unit = vec4<f32>;
fn scale_of(pair: u32, word: u32) -> f32 { return half_to_float((pair >> (word / 8u % 2u * 16u)) & 0xffffu); }
fn key_unit(at: u32) -> Unit { return quants_of(keys[at]) * scale_of(keys[KEYS_SCALES_AT + at / 16u], at); }
fn value_unit(at: u32) -> Unit {
  return quants_of(${values}[at]) * scale_of(${values}[${values.toUpperCase()}_SCALES_AT + at / 16u], at);
}
`;

/** What tiles of attention read of a cache: eight elements as halves, out of vectors of halves or pairs of words of quants. */
export function octetTexts(cache: CacheForm): readonly string[] {
  const { type, values } = cache;
  if (type === 'apart') return [HALVES, QUANTS_OF, apartUnits(cache), APART_OCTETS];
  return type === 'q8_0' ? [HALVES, QUANTS_OF, blockOctets(values)] : [halfOctets(values)];
}

const halfOctets = (values: ValuesIn): string => /* wgsl */ `
fn key_octet(at: u32) -> vec4<u32> { return keys[at]; }
fn value_octet(at: u32) -> vec4<u32> { return ${values}[at]; }
`;

const blockOctets = (values: ValuesIn): string => /* wgsl */ `
fn octet_of(quants: vec2<u32>, scales: vec2<u32>, at: u32) -> vec4<u32> {
  let scale = half_to_float((scales[at / 8u % 2u] >> (at / 4u % 2u * 16u)) & 0xffffu);
  return vec4<u32>(halves(quants_of(quants.x) * scale), halves(quants_of(quants.y) * scale));
}
fn key_octet(at: u32) -> vec4<u32> { return octet_of(keys[at], keys[KEYS_SCALES_AT / 2u + at / 16u], at); }
fn value_octet(at: u32) -> vec4<u32> {
  return octet_of(${values}[at], ${values}[${values.toUpperCase()}_SCALES_AT / 2u + at / 16u], at);
}
`;

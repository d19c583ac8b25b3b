/**
 * Attention of a group of one token's query heads that share a key head, over cells of a paged cache.
 *
 * Positions are taken in chunks of 32. A chunk's keys are scored for every head; the running maximum and sum of each head
 * are brought up to date (Milakov & Gimelshein 2018, "Online normalizer calculation for softmax"); then the chunk's values
 * are added, position by position. The order depends on `begin` and `end` alone.
 */
import { roundToHalves, widenHalves } from './half';
import { exp4, maxLanes, sumLanes, tanh4 } from './math';
import { decodeFiveBitBlocks, decodeNibbleBlocks, decodeStateBlocks } from './state-blocks';

const CHUNK: u32 = 32;

/** Fields of the parameters, 4 bytes each: u32, except for the types of keys and values, u16. */
const BLOCK_SIZE: usize = 0;
const GROUP: usize = 4;
const KEY_SIZE: usize = 8;
const VALUE_SIZE: usize = 12;
const KEY_CELL_BYTES: usize = 16;
/** 0 where a head's values are the first of its keys. */
const VALUE_CELL_BYTES: usize = 20;
const KEY_SCALE_BYTES: usize = 24;
const VALUE_SCALE_BYTES: usize = 28;
const KEY_TYPE: usize = 32;
const VALUE_TYPE: usize = 34;
/** Behind them the `SCORE_PARAMETERS` of `src/ops/attention.ts`: f32, the window and the chunk, of which `begin` speaks, and an address. */
const SCALE: usize = 36;
const SOFT_CAP: usize = 40;
const SINKS: usize = 52;
const ALIBI_BIAS: usize = 68;
const ALIBI_HEADS: usize = 72;

/** What the types say: f32 is 0. */
const F16: u32 = 1;
const BLOCKS: u32 = 2;
const NIBBLES: u32 = 3;

/** Scratch: addresses of the chunk's rows, then of each head 16 bytes of state and 32 weights, then widened rows. */
const STATE: usize = 128;
const STATE_BYTES: usize = 16;
const HIGH: usize = 0;
const SUM: usize = 4;
const RESCALE: usize = 8;
const WEIGHT_BYTES: usize = 128;

/**
 * `rows[i]` becomes the address of `size` f32 of position `first + i`: the cell itself, or its halves or blocks widened into
 * `buffer`; scales are `scaleBytes` a cell. A short chunk is filled up with its first row.
 */
@inline
function gatherRows(rows: usize, cache: usize, cellBytes: usize, scales: usize, scaleBytes: usize, blocks: usize, p: usize, first: u32, count: u32, size: u32, buffer: usize, type: u32): void {
  const blockSize = load<u32>(p + BLOCK_SIZE);
  for (let i: u32 = 0; i < count; i++) {
    const position = first + i;
    const block = load<u32>(blocks + ((position / blockSize) << 2));
    const index = <usize>(block * blockSize + (position % blockSize));
    const cell = cache + index * cellBytes;
    store<usize>(rows + (i << 2), type ? buffer : cell);
    if (type == F16) {
      for (let d: u32 = 0; d < size; d += 4) v128.store(buffer + (d << 2), widenHalves(cell + (d << 1)));
    } else if (type == BLOCKS) decodeStateBlocks(cell, scales + index * scaleBytes, buffer, size);
    else if (type == NIBBLES) decodeNibbleBlocks(cell, scales + index * scaleBytes, buffer, size);
    else if (type > NIBBLES) decodeFiveBitBlocks(cell, scales + index * scaleBytes, buffer, size);
    buffer += size << 2;
  }
  for (let i = count; i < CHUNK; i++) store<usize>(rows + (i << 2), load<usize>(rows));
}

/** The four lanes' sums of each of four vectors, as one vector. */
@inline
function sumLanesOfFour(a: v128, b: v128, c: v128, d: v128): v128 {
  const ab = f32x4.add(
    i8x16.shuffle(a, b, 0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23),
    i8x16.shuffle(a, b, 8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31),
  );
  const cd = f32x4.add(
    i8x16.shuffle(c, d, 0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23),
    i8x16.shuffle(c, d, 8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31),
  );
  return f32x4.add(
    i8x16.shuffle(ab, cd, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23),
    i8x16.shuffle(ab, cd, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31),
  );
}

/** The products of the query at `q` with the keys of four rows. */
@inline
export function scoreFour(q: usize, rows: usize, size: u32): v128 {
  const k0 = load<usize>(rows);
  const k1 = load<usize>(rows + 4);
  const k2 = load<usize>(rows + 8);
  const k3 = load<usize>(rows + 12);
  let a0 = f32x4.splat(0);
  let a1 = a0;
  let a2 = a0;
  let a3 = a0;
  for (let d: usize = 0; d < <usize>size << 2; d += 16) {
    const x = v128.load(q + d);
    a0 = f32x4.add(a0, f32x4.mul(x, v128.load(k0 + d)));
    a1 = f32x4.add(a1, f32x4.mul(x, v128.load(k1 + d)));
    a2 = f32x4.add(a2, f32x4.mul(x, v128.load(k2 + d)));
    a3 = f32x4.add(a3, f32x4.mul(x, v128.load(k3 + d)));
  }
  return sumLanesOfFour(a0, a1, a2, a3);
}

/** What a position adds to a head's scores (ALiBi): `alibiSlope` of `src/ops/attention.ts`. */
@inline
function alibiSlope(p: usize, head: u32): f32 {
  const bias = load<f32>(p + ALIBI_BIAS);
  if (bias == 0) return 0;
  const heads = load<u32>(p + ALIBI_HEADS);
  const step: f32 = head < heads ? <f32>(head + 1) : <f32>(head - heads) + 0.5;
  const exponent = (-bias * step) / <f32>heads;
  return f32x4.extract_lane(exp4(f32x4.splat(exponent * <f32>0.6931471805599453)), 0);
}

/**
 * The chunk's scores of one head, into `weights`; positions beyond `count` score -infinity. `slope` times a position's distance
 * from the row's, which is `ahead` of the chunk's first, is subtracted. Gives the highest.
 */
@inline
function scoreChunk(q: usize, rows: usize, weights: usize, count: u32, p: usize, slope: f32, ahead: u32): f32 {
  const scale = f32x4.splat(load<f32>(p + SCALE));
  const softCap = load<f32>(p + SOFT_CAP);
  const size = load<u32>(p + KEY_SIZE);
  let high = f32x4.splat(-Infinity);
  for (let i: u32 = 0; i < CHUNK; i += 4) {
    let scores = f32x4.splat(-Infinity);
    if (i < count) {
      scores = f32x4.mul(scoreFour(q, rows + (i << 2), size), scale);
      if (softCap != 0) {
        const cap = f32x4.splat(softCap);
        scores = f32x4.mul(cap, tanh4(f32x4.div(scores, cap)));
      }
      if (slope != 0) {
        const distances = f32x4.convert_i32x4_s(i32x4.abs(i32x4.sub(i32x4(0, 1, 2, 3), i32x4.splat(ahead - i))));
        scores = f32x4.sub(scores, f32x4.mul(f32x4.splat(slope), distances));
      }
      const inside = i32x4.lt_s(i32x4.add(i32x4(0, 1, 2, 3), i32x4.splat(i)), i32x4.splat(count));
      scores = v128.bitselect(scores, f32x4.splat(-Infinity), inside);
    }
    high = f32x4.max(high, scores);
    v128.store(weights + (i << 2), scores);
  }
  return maxLanes(high);
}

/**
 * Scores become weights e^(score - highest so far); `RESCALE` is what earlier weights shrink by. Halves are weighed by halves,
 * as ggml and matrix cores do it: whole models are compared with those.
 */
@inline
function softmaxChunk(state: usize, weights: usize, chunkHigh: f32, isHalf: bool): void {
  const before = load<f32>(state + HIGH);
  const high = max<f32>(before, chunkHigh);
  const rescale = f32x4.extract_lane(exp4(f32x4.splat(before - high)), 0);
  let total = f32x4.splat(0);
  for (let i: usize = 0; i < WEIGHT_BYTES; i += 16) {
    const e = exp4(f32x4.sub(v128.load(weights + i), f32x4.splat(high)));
    total = f32x4.add(total, e);
    v128.store(weights + i, isHalf ? roundToHalves(e) : e);
  }
  store<f32>(state + HIGH, high);
  store<f32>(state + SUM, load<f32>(state + SUM) * rescale + sumLanes(total));
  store<f32>(state + RESCALE, rescale);
}

/** `out = out * rescale + sum of weight * value`, 16 (then 4) columns at a time. */
@inline
function addValues(out: usize, rows: usize, weights: usize, count: u32, size: u32, rescale: f32): void {
  const keep = f32x4.splat(rescale);
  const bytes = <usize>size << 2;
  const behind = <usize>count << 2;
  let d: usize = 0;
  for (; d + 64 <= bytes; d += 64) {
    let a0 = f32x4.mul(v128.load(out + d), keep);
    let a1 = f32x4.mul(v128.load(out + d + 16), keep);
    let a2 = f32x4.mul(v128.load(out + d + 32), keep);
    let a3 = f32x4.mul(v128.load(out + d + 48), keep);
    for (let i: usize = 0; i < behind; i += 4) {
      const w = v128.load32_splat(weights + i);
      const v = load<usize>(rows + i) + d;
      a0 = f32x4.add(a0, f32x4.mul(w, v128.load(v)));
      a1 = f32x4.add(a1, f32x4.mul(w, v128.load(v + 16)));
      a2 = f32x4.add(a2, f32x4.mul(w, v128.load(v + 32)));
      a3 = f32x4.add(a3, f32x4.mul(w, v128.load(v + 48)));
    }
    v128.store(out + d, a0);
    v128.store(out + d + 16, a1);
    v128.store(out + d + 32, a2);
    v128.store(out + d + 48, a3);
  }
  for (; d < bytes; d += 16) {
    let a = f32x4.mul(v128.load(out + d), keep);
    for (let i: usize = 0; i < behind; i += 4) {
      a = f32x4.add(a, f32x4.mul(v128.load32_splat(weights + i), v128.load(load<usize>(rows + i) + d)));
    }
    v128.store(out + d, a);
  }
}

/** Divides each head's sum of values by its sum of weights. */
@inline
function normalizeHeads(out: usize, group: u32, size: u32, states: usize): void {
  for (let h: u32 = 0; h < group; h++) {
    const factor = f32x4.splat(1 / load<f32>(states + STATE_BYTES * h + SUM));
    for (let d: u32 = 0; d < size; d += 4) {
      v128.store(out, f32x4.mul(v128.load(out), factor));
      out += 16;
    }
  }
}

/**
 * `out[h] = sum over positions begin .. end - 1 of softmax(cap(scale * q[h] · key)) * value` for `GROUP` query heads of
 * one key head. `q` and `out` hold the group's heads one after another; `keys` and `values` are the cache, moved on to this
 * key head, and so are their scales where they are blocks; `blocks` is the sequence's row of the block table (i32); `p` points
 * to the parameters, `index` is the group's number, `own` the position from which ALiBi measures distances. Head sizes are multiples of 4, or whole blocks; `end` is above `begin`. `scratch` takes 128 + 144 * GROUP + 128 * max(KEY_SIZE, VALUE_SIZE) bytes.
 */
export function attention(q: usize, keys: usize, values: usize, out: usize, blocks: usize, p: usize, begin: u32, end: u32, scratch: usize, keyScales: usize, valueScales: usize, index: u32, own: u32): void {
  const group = load<u32>(p + GROUP);
  const keySize = load<u32>(p + KEY_SIZE);
  const valueSize = load<u32>(p + VALUE_SIZE);
  const isHalf = load<u16>(p + VALUE_TYPE) == F16;
  const states = scratch + STATE;
  const weights = states + STATE_BYTES * group;
  const buffer = weights + WEIGHT_BYTES * group;
  memory.fill(out, 0, <usize>(group * valueSize) << 2);
  const sinks = load<usize>(p + SINKS);
  for (let h: u32 = 0; h < group; h++) {
    // A sink is a score before all others, without a value.
    store<f32>(states + STATE_BYTES * h + HIGH, sinks ? load<f32>(sinks + (<usize>(index * group + h) << 2)) : -Infinity);
    store<f32>(states + STATE_BYTES * h + SUM, sinks ? 1 : 0);
  }
  for (let first = begin; first < end; first += CHUNK) {
    const count = min<u32>(CHUNK, end - first);
    gatherRows(scratch, keys, load<u32>(p + KEY_CELL_BYTES), keyScales, load<u32>(p + KEY_SCALE_BYTES), blocks, p, first, count, keySize, buffer, load<u16>(p + KEY_TYPE));
    for (let h: u32 = 0; h < group; h++) {
      const place = weights + WEIGHT_BYTES * h;
      const slope = alibiSlope(p, index * group + h);
      const high = scoreChunk(q + (<usize>(h * keySize) << 2), scratch, place, count, p, slope, own - first);
      softmaxChunk(states + STATE_BYTES * h, place, high, isHalf);
    }
    const valueBytes = load<u32>(p + VALUE_CELL_BYTES);
    if (valueBytes) gatherRows(scratch, values, valueBytes, valueScales, load<u32>(p + VALUE_SCALE_BYTES), blocks, p, first, count, valueSize, buffer, load<u16>(p + VALUE_TYPE));
    for (let h: u32 = 0; h < group; h++) {
      const rescale = load<f32>(states + STATE_BYTES * h + RESCALE);
      addValues(out + (<usize>(h * valueSize) << 2), scratch, weights + WEIGHT_BYTES * h, count, valueSize, rescale);
    }
  }
  normalizeHeads(out, group, valueSize, states);
}

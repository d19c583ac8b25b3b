/**
 * Selecting among a row's tokens by a workgroup. A token's rank is a pair of words: its logit in the order of numbers, then its
 * id downwards, so that equal logits rank by lower id and "the best ones" are all tokens from a rank on; 0 is none. Weights
 * are whole multiples of 2^-41, in three digits of 14 bits, so that their sums do not depend on the order.
 */
export const SAMPLE_SELECT = /* wgsl */ `
const LIST_CAPACITY = 512u;
var<workgroup> digits_high: array<atomic<u32>, 256>;
var<workgroup> digits_middle: array<atomic<u32>, 256>;
var<workgroup> digits_low: array<atomic<u32>, 256>;
var<workgroup> digits_count: array<atomic<u32>, 256>;
var<workgroup> pairs: array<vec2<u32>, THREADS>;
var<workgroup> found: vec4<u32>;
var<workgroup> list_length: atomic<u32>;
var<workgroup> list_logits: array<f32, LIST_CAPACITY>;
var<workgroup> list_ids: array<u32, LIST_CAPACITY>;

// The tokens that stages look at: all of the vocabulary, or the list.
var<private> listed: bool;
var<private> token_count: u32;
fn id_at(i: u32) -> u32 { if (listed) { return list_ids[i]; } return i; }
fn logit_at(i: u32) -> f32 { if (listed) { return list_logits[i]; } return full_logit(i); }

fn ordered(value: f32) -> u32 {
  let bits = bitcast<u32>(value);
  if (bits == 0x80000000u) { return bits; }
  return select(bits | 0x80000000u, ~bits, (bits & 0x80000000u) != 0u);
}
fn from_ordered(word: u32) -> f32 {
  return bitcast<f32>(select(~word, word & 0x7fffffffu, (word & 0x80000000u) != 0u));
}
fn rank_of(logit: f32, id: u32) -> vec2<u32> {
  if (is_nan(logit) || bitcast<u32>(logit) == 0xff800000u) { return vec2<u32>(); }
  return vec2<u32>(ordered(logit), ~id);
}

// The rank, and above all ranks what no logit may be: Infinity and NaN.
const NON_FINITE_RANK = 0xff800000u;
fn rank_or_non_finite(logit: f32, id: u32) -> vec2<u32> {
  let bits = bitcast<u32>(logit);
  if ((bits & 0x7fffffffu) >= 0x7f800000u && bits != 0xff800000u) { return vec2<u32>(NON_FINITE_RANK, 0u); }
  return rank_of(logit, id);
}

struct Weight { high: u32, middle: u32, low: u32 }

// A weight from 0 to 1 in whole multiples of 2^-41.
fn whole_weight(weight: f32) -> Weight {
  let high = weight * 8192.0;
  let middle = (high - floor(high)) * 16384.0;
  let low = (middle - floor(middle)) * 16384.0;
  return Weight(u32(high), u32(middle), u32(low));
}
fn wide_weight(weight: Weight) -> vec2<u32> {
  let lower = wide_sum(vec2<u32>(weight.middle >> 18u, weight.middle << 14u), vec2<u32>(0u, weight.low));
  return wide_sum(vec2<u32>(weight.high >> 4u, weight.high << 28u), lower);
}

// The largest of the threads' values, in all of them.
fn workgroup_max(value: vec2<u32>, thread: u32) -> vec2<u32> {
  pairs[thread] = value;
  workgroupBarrier();
  for (var step = THREADS / 2u; step > 0u; step >>= 1u) {
    if (thread < step) { pairs[thread] = wide_max(pairs[thread], pairs[thread + step]); }
    workgroupBarrier();
  }
  return workgroupUniformLoad(&pairs[0]);
}

// The sums over the threads up to this one.
fn sum_up_to(value: vec2<u32>, thread: u32) -> vec2<u32> {
  var sum = value;
  for (var step = 1u; step < THREADS; step <<= 1u) {
    pairs[thread] = sum;
    workgroupBarrier();
    if (thread >= step) { sum = wide_sum(sum, pairs[thread - step]); }
    workgroupBarrier();
  }
  return sum;
}

fn has_prefix(key: vec2<u32>, prefix: vec2<u32>, place: u32) -> bool {
  if (place == 0u) { return true; }
  if (place < 4u) { return (key.x >> (32u - 8u * place)) == (prefix.x >> (32u - 8u * place)); }
  if (place == 4u) { return key.x == prefix.x; }
  return key.x == prefix.x && (key.y >> (64u - 8u * place)) == (prefix.y >> (64u - 8u * place));
}

// The least key such that the weights of all tokens from it up reach the goal (at least 1, at most their sum): digit by digit
// from the highest down, by the sums of the weights that each digit has.
fn radix_select(stage: u32, whole_goal: vec2<u32>, thread: u32) -> vec2<u32> {
  var prefix = vec2<u32>();
  var goal = whole_goal;
  for (var place = 0u; place < 8u; place++) {
    atomicStore(&digits_high[thread], 0u);
    atomicStore(&digits_middle[thread], 0u);
    atomicStore(&digits_low[thread], 0u);
    atomicStore(&digits_count[thread], 0u);
    workgroupBarrier();
    for (var i = thread; i < key_count(stage); i += THREADS) {
      let key = key_of(stage, i);
      if (is_zero(key) || !has_prefix(key, prefix, place)) { continue; }
      let digit = (select(key.y, key.x, place < 4u) >> (24u - 8u * (place & 3u))) & 255u;
      let weight = key_weight(stage, i);
      atomicAdd(&digits_high[digit], weight.high);
      atomicAdd(&digits_middle[digit], weight.middle);
      atomicAdd(&digits_low[digit], weight.low);
      atomicAdd(&digits_count[digit], 1u);
    }
    workgroupBarrier();
    let digit = 255u - thread;
    let own = wide_weight(Weight(atomicLoad(&digits_high[digit]), atomicLoad(&digits_middle[digit]), atomicLoad(&digits_low[digit])));
    let upto = sum_up_to(own, thread);
    let before = wide_difference(upto, own);
    if (wide_less(before, goal) && !wide_less(upto, goal)) {
      let alone = atomicLoad(&digits_count[digit]) == 1u || is_zero(wide_difference(upto, goal));
      found = vec4<u32>(before, digit, select(0u, 1u, alone));
    }
    let seen = workgroupUniformLoad(&found);
    goal = wide_difference(goal, seen.xy);
    let shifted = seen.z << (24u - 8u * (place & 3u));
    if (place < 4u) { prefix.x |= shifted; } else { prefix.y |= shifted; }
    if (seen.w == 1u) { break; }
  }
  return prefix;
}

// Lists the tokens of at least a rank, where there is room for them.
fn list_tokens(least: vec2<u32>, thread: u32) {
  if (thread == 0u) { atomicStore(&list_length, 0u); }
  workgroupBarrier();
  for (var i = thread; i < VOCABULARY; i += THREADS) {
    let logit = full_logit(i);
    let rank = rank_of(logit, i);
    if (is_zero(rank) || wide_less(rank, least)) { continue; }
    let at = atomicAdd(&list_length, 1u);
    if (at < LIST_CAPACITY) {
      list_logits[at] = logit;
      list_ids[at] = i;
    }
  }
  workgroupBarrier();
  let length = atomicLoad(&list_length);
  if (length <= LIST_CAPACITY) {
    listed = true;
    token_count = length;
  }
  sort_list(min(length, LIST_CAPACITY), thread);
}

// Brings the list into the order of ids.
fn sort_list(length: u32, thread: u32) {
  var places: array<u32, 2>;
  var logits: array<f32, 2>;
  var ids: array<u32, 2>;
  for (var own = 0u; own < 2u; own++) {
    let i = own * THREADS + thread;
    if (i >= length) { continue; }
    logits[own] = list_logits[i];
    ids[own] = list_ids[i];
    for (var j = 0u; j < length; j++) { places[own] += select(0u, 1u, list_ids[j] < ids[own]); }
  }
  workgroupBarrier();
  for (var own = 0u; own < 2u; own++) {
    if (own * THREADS + thread >= length) { continue; }
    list_logits[places[own]] = logits[own];
    list_ids[places[own]] = ids[own];
  }
  workgroupBarrier();
}
`;

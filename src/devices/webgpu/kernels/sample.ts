import { SAMPLING_WORD } from '../../../ops/index.ts';

/** The words of a parameter row as constants: `WORD_TOP_K`. */
const WORDS = Object.entries(SAMPLING_WORD)
  .map(([name, at]) => `const WORD_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()} = ${at}u;`)
  .join('\n');

/** Chooses a token for each output row: the stages of the contract's `sampleRow`, a workgroup of 256 threads a row. */
export const SAMPLE = /* wgsl */ `
${WORDS}
const STAGE_BEST = 0u;
const STAGE_THREADS = 1u;
const STAGE_TOP_P = 2u;
const STAGE_TYPICAL = 3u;

var<workgroup> pairs_of_threads: array<vec2<u32>, THREADS>;
var<workgroup> entropy_cells: array<f32, THREADS>;
var<workgroup> chosen: u32;

var<private> row_logits: u32;
var<private> adjusted: bool;

fn full_logit(i: u32) -> f32 { if (adjusted) { return copies[row_logits + i]; } return logits[row_logits + i]; }
// Where the row's parameters start is handed on, so that the compiler sees that all threads have the same.
fn word(words: u32, at: u32) -> i32 { return parameters[words + at]; }
fn number(words: u32, at: u32) -> f32 { return bitcast<f32>(parameters[words + at]); }

// Which tokens are still in the race: those from a rank on and, after the typical stage, from a typicality on.
var<private> least_rank: vec2<u32>;
var<private> typical: bool;
var<private> least_typicality: vec2<u32>;
var<private> entropy: f32;
var<private> log_total: f32;
var<private> stage_largest: f32;
var<private> typical_largest: f32;

// Tokens near the expected surprise come first, of those just as near the ones with lower ids.
fn typicality(logit: f32, id: u32) -> vec2<u32> {
  let surprise = log_total + select(typical_largest - logit, 0.0, logit == typical_largest);
  return vec2<u32>(ordered(-abs(surprise - entropy)), ~id);
}

// The token's rank, 0 when it has dropped out.
fn race_rank(i: u32) -> vec2<u32> {
  let logit = logit_at(i);
  let own = rank_of(logit, id_at(i));
  if (is_zero(own) || wide_less(own, least_rank)) { return vec2<u32>(); }
  if (typical && wide_less(typicality(logit, id_at(i)), least_typicality)) { return vec2<u32>(); }
  return own;
}

fn key_count(stage: u32) -> u32 { return select(token_count, THREADS, stage == STAGE_THREADS); }
fn key_of(stage: u32, i: u32) -> vec2<u32> {
  if (stage == STAGE_THREADS) { return pairs_of_threads[i]; }
  if (stage == STAGE_BEST) { return rank_of(logit_at(i), id_at(i)); }
  let rank = race_rank(i);
  if (stage == STAGE_TOP_P || is_zero(rank)) { return rank; }
  return typicality(logit_at(i), id_at(i));
}
fn key_weight(stage: u32, i: u32) -> Weight {
  if (stage < STAGE_TOP_P) { return Weight(0u, 0u, 1u); }
  return whole_weight(weight_of(logit_at(i), stage_largest, 1.0));
}

// How likely a token is beside the largest.
fn weight_of(logit: f32, largest_logit: f32, per_temperature: f32) -> f32 {
  if (logit == largest_logit) { return 1.0; }
  return exponential((logit - largest_logit) * per_temperature);
}

fn best_rank(thread: u32) -> vec2<u32> {
  var best = vec2<u32>();
  for (var i = thread; i < token_count; i += THREADS) { best = wide_most(best, race_rank(i)); }
  return most_of_all(best, thread);
}

// The weights of the tokens from first to before end that are in the race.
fn weight_between(first: u32, end: u32, step: u32, per_temperature: f32) -> vec2<u32> {
  var sum = Weight(0u, 0u, 0u);
  for (var i = first; i < end; i += step) {
    if (is_zero(race_rank(i))) { continue; }
    let weight = whole_weight(weight_of(logit_at(i), stage_largest, per_temperature));
    sum.high += weight.high;
    sum.middle += weight.middle;
    sum.low += weight.low;
  }
  return wide_weight(sum);
}
fn total_weight(thread: u32) -> vec2<u32> {
  return sum_of_all(weight_between(thread, token_count, THREADS, 1.0), thread);
}

// The share of a sum of weights that a stage keeps, rounded up, at least a little.
fn goal_of(share: f32, total: vec2<u32>) -> vec2<u32> {
  let factor = u32(share * 4294967296.0);
  let low = wide_product(total.y, factor);
  var goal = wide_sum(wide_product(total.x, factor), vec2<u32>(0u, low.x));
  if (low.y != 0u) { goal = wide_sum(goal, vec2<u32>(0u, 1u)); }
  return wide_least(wide_most(goal, vec2<u32>(0u, 1u)), total);
}

fn log_of_total(total: vec2<u32>) -> f32 { return logarithm(wide_to_float(total) * 4.5474735e-13); }

fn keep_typical(share: f32, thread: u32) {
  stage_largest = from_ordered(best_rank(thread).x);
  let total = total_weight(thread);
  let log_of_all = log_of_total(total);
  var part = 0.0;
  for (var i = thread; i < token_count; i += THREADS) {
    if (is_zero(race_rank(i))) { continue; }
    let logit = logit_at(i);
    let weight = weight_of(logit, stage_largest, 1.0);
    if (weight > 0.0) { part += weight * (log_of_all + select(stage_largest - logit, 0.0, logit == stage_largest)); }
  }
  entropy_cells[thread] = part;
  workgroupBarrier();
  for (var step = THREADS / 2u; step > 0u; step >>= 1u) {
    if (thread < step) { entropy_cells[thread] += entropy_cells[thread + step]; }
    workgroupBarrier();
  }
  entropy = workgroupUniformLoad(&entropy_cells[0]) / (wide_to_float(total) * 4.5474735e-13);
  log_total = log_of_all;
  typical_largest = stage_largest;
  least_typicality = least_key(STAGE_TYPICAL, goal_of(share, total), thread);
  typical = true;
}

fn keep_top_p(share: f32, thread: u32) {
  stage_largest = from_ordered(best_rank(thread).x);
  let goal = goal_of(share, total_weight(thread));
  least_rank = wide_most(least_rank, least_key(STAGE_TOP_P, goal, thread));
}

fn keep_min_p(share: f32, thread: u32) {
  let least = from_ordered(best_rank(thread).x) + logarithm(share);
  least_rank = wide_most(least_rank, vec2<u32>(ordered(least), 0u));
}

// The first output of pcg3d, as drawUniform of the contract, in 24 bits.
fn draw_uniform(words: u32, position: u32) -> u32 {
  var state = vec3<u32>(bitcast<u32>(word(words, WORD_SEED_LOW)), bitcast<u32>(word(words, WORD_SEED_HIGH)), position);
  state = state * 1664525u + 1013904223u;
  state.x += state.y * state.z;
  state.y += state.z * state.x;
  state.z += state.x * state.y;
  state ^= state >> vec3<u32>(16u);
  state.x += state.y * state.z;
  return state.x >> 8u;
}

// The first token by id at which the cumulated weights pass the drawn share of their sum. Each thread has a stretch of tokens.
fn pick(words: u32, position: u32, thread: u32) -> u32 {
  let per_temperature = 1.0 / number(words, WORD_TEMPERATURE);
  stage_largest = from_ordered(best_rank(thread).x);
  let stretch = (token_count + THREADS - 1u) / THREADS;
  let first = min(thread * stretch, token_count);
  let end = min(first + stretch, token_count);
  let own = weight_between(first, end, 1u, per_temperature);
  let upto = sum_up_to(own, thread);
  if (thread == THREADS - 1u) { found = vec4<u32>(upto, 0u, 0u); }
  let total = workgroupUniformLoad(&found).xy;
  let uniform_bits = draw_uniform(words, position);
  let low = wide_product(total.y, uniform_bits);
  let high = wide_product(total.x, uniform_bits);
  let goal = wide_sum(vec2<u32>((high.x << 8u) | (high.y >> 24u), high.y << 8u), vec2<u32>(low.x >> 24u, (low.x << 8u) | (low.y >> 24u)));
  let before = wide_difference(upto, own);
  if (!wide_less(goal, before) && wide_less(goal, upto)) {
    var sum = before;
    for (var i = first; i < end; i++) {
      sum = wide_sum(sum, weight_between(i, i + 1u, 1u, per_temperature));
      if (wide_less(goal, sum)) {
        chosen = id_at(i);
        break;
      }
    }
  }
  return workgroupUniformLoad(&chosen);
}

fn draw(words: u32, position: u32, thread: u32) -> u32 {
  let k = word(words, WORD_TOP_K);
  if (k > 0 && u32(k) < VOCABULARY) { least_rank = keep_best(u32(k), thread); }
  if (is_zero(best_rank(thread))) { return 0u; }
  if (number(words, WORD_TYPICAL_P) < 1.0) { keep_typical(number(words, WORD_TYPICAL_P), thread); }
  if (number(words, WORD_TOP_P) < 1.0) { keep_top_p(number(words, WORD_TOP_P), thread); }
  if (number(words, WORD_MIN_P) > 0.0) { keep_min_p(number(words, WORD_MIN_P), thread); }
  return pick(words, position, thread);
}

// Lowers the logits of the tokens in the history from start to before end; a token's first occurrence does it for all.
fn penalize(words: u32, past: u32, start: u32, end: u32, thread: u32) {
  for (var i = start + thread; i < end; i += THREADS) {
    let id = history[past + i];
    if (id < 0 || u32(id) >= VOCABULARY) { continue; }
    var times = 0u;
    var first = true;
    for (var j = start; j < end; j++) {
      if (history[past + j] != id) { continue; }
      if (j < i) { first = false; }
      times++;
    }
    if (!first) { continue; }
    let logit = copies[row_logits + u32(id)];
    let repeat = number(words, WORD_REPEAT_PENALTY);
    let repeated = select(logit * repeat, logit / repeat, logit > 0.0);
    copies[row_logits + u32(id)] = repeated - f32(times) * number(words, WORD_FREQUENCY_PENALTY) - number(words, WORD_PRESENCE_PENALTY);
  }
}

// Makes a copy of the logits with bias and penalties where they are asked for.
fn adjust(words: u32, slot: u32, position: u32, thread: u32) {
  let window = word(words, WORD_PENALTY_WINDOW);
  let biases = u32(word(words, WORD_BIAS_COUNT));
  let penalized = window != 0 && (number(words, WORD_REPEAT_PENALTY) != 1.0 || number(words, WORD_FREQUENCY_PENALTY) != 0.0 || number(words, WORD_PRESENCE_PENALTY) != 0.0);
  if (!penalized && biases == 0u) { return; }
  for (var i = thread; i < VOCABULARY; i += THREADS) { copies[row_logits + i] = logits[row_logits + i]; }
  storageBarrier();
  for (var i = thread; i < biases; i += THREADS) {
    let id = word(words, WORD_BIASES + 2u * i);
    if (id >= 0 && u32(id) < VOCABULARY) { copies[row_logits + u32(id)] += number(words, WORD_BIASES + 2u * i + 1u); }
  }
  storageBarrier();
  let end = position + 1u;
  let start = select(0u, end - u32(window), window > 0 && u32(window) < end);
  if (penalized) { penalize(words, slot * POSITIONS, start, end, thread); }
  storageBarrier();
  adjusted = true;
}

// The log-probabilities of the chosen token and of the most likely ones under the raw logits.
fn write_report(token: u32, wanted: u32, at: u32, thread: u32) {
  adjusted = false;
  listed = false;
  typical = false;
  token_count = VOCABULARY;
  least_rank = vec2<u32>();
  let best = best_rank(thread);
  stage_largest = from_ordered(best.x);
  let log_of_all = log_of_total(total_weight(thread));
  if (thread == 0u) {
    report[at] = token;
    let logit = full_logit(token);
    let logarithm_of_it = select(logit - stage_largest, 0.0, logit == stage_largest) - log_of_all;
    report[at + 1u] = select(bitcast<u32>(logarithm_of_it), 0x7fc00000u, is_zero(best));
  }
  var next = best;
  for (var rank = 0u; rank < wanted; rank++) {
    if (thread == 0u) {
      let logarithm_of_it = (from_ordered(next.x) - stage_largest) - log_of_all;
      let infinite = from_ordered(next.x) == stage_largest;
      report[at + 2u + 2u * rank] = select(~next.y, 0u, is_zero(next));
      report[at + 3u + 2u * rank] = select(bitcast<u32>(select(logarithm_of_it, -log_of_all, infinite)), 0xff800000u, is_zero(next));
    }
    var below = vec2<u32>();
    for (var i = thread; i < VOCABULARY; i += THREADS) {
      let own = rank_of(full_logit(i), i);
      if (wide_less(own, next)) { below = wide_most(below, own); }
    }
    next = most_of_all(below, thread);
  }
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  let output = group.x;
  if (output >= u32(counts[COUNT])) { return; }
  row_logits = output * VOCABULARY;
  let words = output * PARAMETER_WORDS;
  let row = u32(output_rows[output >> 2u][output & 3u]);
  let slot = u32(slots[row >> 2u][row & 3u]);
  let position = u32(positions[row >> 2u][row & 3u]);
  token_count = VOCABULARY;
  adjust(words, slot, position, thread);
  var token: u32;
  if (number(words, WORD_TEMPERATURE) > 0.0) {
    token = draw(words, position, thread);
  } else {
    let best = best_rank(thread);
    token = select(~best.y, 0u, is_zero(best));
  }
  let wanted = word(words, WORD_LOG_PROBABILITIES);
  if (wanted >= 0) { write_report(token, min(u32(wanted), ALTERNATIVES), output * 2u * (1u + ALTERNATIVES), thread); }
  if (thread == 0u) { tokens[output] = i32(token); }
}
`;

import { NO_TOKEN_NAMES, SAMPLING_WORD_NAMES } from '../../../ops/index.ts';
import type { Loop } from './library/loop.ts';

const NAMES = [
  ...Object.entries(SAMPLING_WORD_NAMES).map(([name, at]) => `const ${name} = ${at}u;`),
  ...Object.entries(NO_TOKEN_NAMES).map(([name, value]) => `const ${name} = ${value};`),
].join('\n');

/** Logits that are on their way to a thread at once. */
const AT_ONCE = 8;

/** The best of a thread's part of a row, or what is no number; the last token may be looked at several times. */
function bestLogitText(loop: Loop): string {
  const at = (k: string) => `min(i + ${k} * THREADS, VOCABULARY - 1u)`;
  return /* wgsl */ `
fn own_best_logit(thread: u32) -> vec2<u32> {
  var best = vec2<u32>();
  for (var i = thread; i < VOCABULARY; i += ${AT_ONCE}u * THREADS) {
    var values = array<f32, ${AT_ONCE}>();
    ${loop('k', AT_ONCE, (k) => ` values[${k}] = logits[row_logits + ${at(k)}]; `)}
    ${loop('k', AT_ONCE, (k) => ` best = wide_max(best, rank_or_non_finite(values[${k}], ${at(k)})); `)}
  }
  return best;
}
`;
}

/** Samples a token for each output row: the stages of the contract's `sampleRow`, a workgroup of 256 threads a row. */
export function sampleTexts(loop: Loop): readonly string[] {
  return [SAMPLE, bestLogitText(loop)];
}

const SAMPLE = /* wgsl */ `
${NAMES}
const STAGE_BOUND = 0u;
const STAGE_TOP_K = 1u;
const STAGE_TYPICAL = 2u;
const STAGE_TOP_P = 3u;
const STAGE_MIN_P = 4u;
const STAGE_XTC = 5u;
const STAGE_TEMPERATURE = 6u;
const STAGE_CHOICE = 7u;
const STAGE_REPORT = 8u;
// What the draw of XTC's chance differs by from the draw of the token.
const XTC_SEED = 0x9e3779b9u;
// The least temperature that entropy leads to, unless the middle one is less.
const MIN_DYNAMIC = 0.0009765625;

var<workgroup> pairs_of_threads: array<vec2<u32>, THREADS>;
var<workgroup> sum_cells: array<f32, THREADS>;
var<workgroup> chosen: u32;

var<private> row_logits: u32;
var<private> adjusted: bool;

fn full_logit(i: u32) -> f32 { if (adjusted) { return copies[row_logits + i]; } return logits[row_logits + i]; }
// Where the row's parameters start is handed on, so that the compiler sees that all threads have the same.
fn word(words: u32, at: u32) -> i32 { return parameters[words + at]; }
fn number(words: u32, at: u32) -> f32 { return bitcast<f32>(parameters[words + at]); }

// The candidates that are left: those from a rank on, up to another one, and, after the typical stage, from a typicality on.
var<private> min_rank: vec2<u32>;
var<private> max_rank = vec2<u32>(0xffffffffu, 0xffffffffu);
var<private> typical: bool;
var<private> min_typicality: vec2<u32>;
var<private> entropy: f32;
var<private> log_total: f32;
var<private> stage_largest: f32;
var<private> per_temperature: f32;
var<private> typical_log_total: f32;
var<private> typical_largest: f32;

// Tokens near the expected surprise come first, of those just as near the ones with lower ids.
fn typicality(logit: f32, id: u32) -> vec2<u32> {
  let surprise = typical_log_total + select(typical_largest - logit, 0.0, logit == typical_largest);
  return vec2<u32>(ordered(-abs(surprise - entropy)), ~id);
}

// The token's rank, 0 when it is no candidate any more.
fn candidate_rank(i: u32) -> vec2<u32> {
  let logit = logit_at(i);
  let own = rank_of(logit, id_at(i));
  if (is_zero(own) || wide_less(own, min_rank) || wide_less(max_rank, own)) { return vec2<u32>(); }
  if (typical && wide_less(typicality(logit, id_at(i)), min_typicality)) { return vec2<u32>(); }
  return own;
}

// What a stage counts: the threads' own best tokens, or the candidates.
fn key_count(stage: u32) -> u32 { return select(token_count, THREADS, stage == STAGE_BOUND); }
fn member_of(stage: u32, i: u32) -> vec2<u32> {
  if (stage == STAGE_BOUND) { return pairs_of_threads[i]; }
  return candidate_rank(i);
}
fn key_of(stage: u32, i: u32) -> vec2<u32> {
  let member = member_of(stage, i);
  if (stage != STAGE_TYPICAL || is_zero(member)) { return member; }
  return typicality(logit_at(i), id_at(i));
}
fn key_weight(stage: u32, i: u32) -> Weight {
  if (stage <= STAGE_TOP_K) { return Weight(0u, 0u, 1u); }
  return whole_weight(weight_of(logit_at(i)));
}

// A token's probability relative to the largest.
fn weight_of(logit: f32) -> f32 {
  if (logit == stage_largest) { return 1.0; }
  return exponential((logit - stage_largest) * per_temperature);
}

// The sum of the weights from first to before end.
fn weight_between(stage: u32, first: u32, end: u32, step: u32) -> vec2<u32> {
  var sum = Weight(0u, 0u, 0u);
  for (var i = first; i < end; i += step) {
    if (is_zero(member_of(stage, i))) { continue; }
    let weight = key_weight(stage, i);
    sum.high += weight.high;
    sum.middle += weight.middle;
    sum.low += weight.low;
  }
  return wide_weight(sum);
}

// The fraction of a sum of weights that a stage keeps, rounded up, at least a little.
fn goal_of(p: f32, total: vec2<u32>) -> vec2<u32> {
  let factor = u32(p * 4294967296.0);
  let low = wide_product(total.y, factor);
  var goal = wide_sum(wide_product(total.x, factor), vec2<u32>(0u, low.x));
  if (low.y != 0u) { goal = wide_sum(goal, vec2<u32>(0u, 1u)); }
  return wide_min(wide_max(goal, vec2<u32>(0u, 1u)), total);
}

fn log_of_total(total: vec2<u32>) -> f32 { return logarithm(wide_to_float(total) * 4.5474735e-13); }

// The sum of the threads' values, in all of them.
fn workgroup_sum(value: f32, thread: u32) -> f32 {
  workgroupBarrier();
  sum_cells[thread] = value;
  workgroupBarrier();
  for (var step = THREADS / 2u; step > 0u; step >>= 1u) {
    if (thread < step) { sum_cells[thread] += sum_cells[thread + step]; }
    workgroupBarrier();
  }
  return workgroupUniformLoad(&sum_cells[0]);
}

// The entropy of the candidates: their expected surprise.
fn expected_surprise(total: vec2<u32>, thread: u32) -> f32 {
  var part = 0.0;
  for (var i = thread; i < token_count; i += THREADS) {
    if (is_zero(candidate_rank(i))) { continue; }
    let logit = logit_at(i);
    let weight = weight_of(logit);
    if (weight > 0.0) { part += weight * (log_total + select(stage_largest - logit, 0.0, logit == stage_largest)); }
  }
  return workgroup_sum(part, thread) / (wide_to_float(total) * 4.5474735e-13);
}

// Of the tokens that are at least as likely as the threshold drops all but the least likely one.
fn drop_top_choices(threshold: f32, total: vec2<u32>, thread: u32) {
  let least = threshold * wide_to_float(total) * 4.5474735e-13;
  var own = vec2<u32>();
  for (var i = thread; i < token_count; i += THREADS) {
    let rank = candidate_rank(i);
    if (!is_zero(rank) && weight_of(logit_at(i)) >= least) { own = wide_max(own, ~rank); }
  }
  max_rank = ~workgroup_max(own, thread);
}

// The temperature that follows the entropy of the candidates.
fn dynamic_temperature(words: u32, total: vec2<u32>, thread: u32) -> f32 {
  let temperature = number(words, WORD_TEMPERATURE);
  let range = number(words, WORD_DYNATEMP_RANGE);
  var own = 0.0;
  for (var i = thread; i < token_count; i += THREADS) { own += select(1.0, 0.0, is_zero(candidate_rank(i))); }
  let known = workgroup_sum(own, thread);
  let surprise = expected_surprise(total, thread);
  if (known < 2.0) { return temperature; }
  let part = surprise / logarithm(known);
  let low = max(temperature - range, min(temperature, MIN_DYNAMIC));
  let power = select(0.0, exponential(number(words, WORD_DYNATEMP_EXPONENT) * logarithm(part)), part > 0.0);
  return low + (temperature + range - low) * power;
}

// The first output of pcg3d, as drawUniform of the contract, in 24 bits.
fn draw_uniform(words: u32, position: u32, changed: u32) -> u32 {
  var state = vec3<u32>(bitcast<u32>(word(words, WORD_SEED_LOW)) ^ changed, bitcast<u32>(word(words, WORD_SEED_HIGH)), position);
  state = state * 1664525u + 1013904223u;
  state.x += state.y * state.z;
  state.y += state.z * state.x;
  state.z += state.x * state.y;
  state ^= state >> vec3<u32>(16u);
  state.x += state.y * state.z;
  return state.x >> 8u;
}

// The first token by id at which the cumulative weights pass the drawn fraction of their sum: each thread has a stretch of tokens,
// the weights up to whose end are known.
fn pick(uniform_bits: u32, upto: vec2<u32>, own: vec2<u32>, total: vec2<u32>, first: u32, end: u32) {
  let low = wide_product(total.y, uniform_bits);
  let high = wide_product(total.x, uniform_bits);
  let goal = wide_sum(vec2<u32>((high.x << 8u) | (high.y >> 24u), high.y << 8u), vec2<u32>(low.x >> 24u, (low.x << 8u) | (low.y >> 24u)));
  var sum = wide_difference(upto, own);
  if (wide_less(goal, sum) || !wide_less(goal, upto)) { return; }
  for (var i = first; i < end; i++) {
    if (is_zero(candidate_rank(i))) { continue; }
    sum = wide_sum(sum, wide_weight(key_weight(STAGE_CHOICE, i)));
    if (wide_less(goal, sum)) {
      chosen = id_at(i);
      return;
    }
  }
}

// Which stages a row asks for: a temperature of 0 takes the best token.
fn is_wanted(words: u32, stage: u32, position: u32) -> bool {
  let draws = number(words, WORD_TEMPERATURE) > 0.0;
  switch (stage) {
    case STAGE_BOUND, STAGE_TOP_K: { return draws && word(words, WORD_TOP_K) > 0 && u32(word(words, WORD_TOP_K)) < VOCABULARY; }
    case STAGE_TYPICAL: { return draws && number(words, WORD_TYPICAL_P) < 1.0; }
    case STAGE_TOP_P: { return draws && number(words, WORD_TOP_P) < 1.0; }
    case STAGE_MIN_P: { return draws && number(words, WORD_MIN_P) > 0.0; }
    case STAGE_XTC: {
      let chance = number(words, WORD_XTC_PROBABILITY);
      return draws && chance > 0.0 && f32(draw_uniform(words, position, XTC_SEED)) < chance * 16777216.0;
    }
    case STAGE_TEMPERATURE: { return draws && number(words, WORD_DYNATEMP_RANGE) > 0.0; }
    case STAGE_CHOICE: { return true; }
    default: { return word(words, WORD_LOG_PROBABILITIES) >= 0; }
  }
}

// How much of the sum of weights a stage keeps; 0 where that drops no candidate.
fn stage_goal(words: u32, stage: u32, total: vec2<u32>) -> vec2<u32> {
  let k = vec2<u32>(0u, u32(max(word(words, WORD_TOP_K), 0)));
  if (is_zero(total)) { return vec2<u32>(); }
  switch (stage) {
    // Where fewer threads have tokens, their best ones tell nothing of the k-th best of all.
    case STAGE_BOUND: { return select(k, vec2<u32>(), wide_less(total, k)); }
    case STAGE_TOP_K: { return select(vec2<u32>(), k, wide_less(k, total)); }
    case STAGE_TYPICAL: { return goal_of(number(words, WORD_TYPICAL_P), total); }
    case STAGE_TOP_P: { return goal_of(number(words, WORD_TOP_P), total); }
    default: { return vec2<u32>(); }
  }
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

// Whether the mask lets a token be chosen.
fn is_allowed(mask: u32, id: u32) -> bool { return ((masks[mask + (id >> 5u)] >> (id & 31u)) & 1u) != 0u; }

// Forbids the tokens whose logit is more than n standard deviations below the largest.
fn keep_top_n_sigma(n: f32, thread: u32) {
  var best = vec2<u32>();
  var known = 0.0;
  var sum = 0.0;
  for (var i = thread; i < VOCABULARY; i += THREADS) {
    let rank = rank_of(copies[row_logits + i], i);
    if (is_zero(rank)) { continue; }
    best = wide_max(best, rank);
    known += 1.0;
    sum += copies[row_logits + i];
  }
  let largest = from_ordered(workgroup_max(best, thread).x);
  let count = workgroup_sum(known, thread);
  let mean = workgroup_sum(sum, thread) / count;
  var squares = 0.0;
  for (var i = thread; i < VOCABULARY; i += THREADS) {
    let logit = copies[row_logits + i];
    if (!is_zero(rank_of(logit, i))) { squares += (logit - mean) * (logit - mean); }
  }
  let variance = workgroup_sum(squares, thread) / count;
  for (var i = thread; i < VOCABULARY; i += THREADS) {
    let distance = largest - copies[row_logits + i];
    if (distance * distance > n * n * variance) { copies[row_logits + i] = -infinity(); }
  }
}

// Makes a copy of the logits with mask, bias, penalties, DRY and top-n-sigma where they are asked for, and says whether they are.
fn adjust(words: u32, slot: u32, position: u32, thread: u32) -> bool {
  let window = word(words, WORD_PENALTY_WINDOW);
  let biases = u32(word(words, WORD_BIAS_COUNT));
  let dry = u32(word(words, WORD_DRY_COUNT));
  let penalized = window != 0 && (number(words, WORD_REPEAT_PENALTY) != 1.0 || number(words, WORD_FREQUENCY_PENALTY) != 0.0 || number(words, WORD_PRESENCE_PENALTY) != 0.0);
  let masked = word(words, WORD_MASKED) != 0;
  let sigma = select(0.0, number(words, WORD_TOP_N_SIGMA), number(words, WORD_TEMPERATURE) > 0.0);
  if (!penalized && !masked && biases == 0u && dry == 0u && sigma <= 0.0) { return false; }
  for (var i = thread; i < VOCABULARY; i += THREADS) {
    let allowed = !masked || is_allowed(slot * MASK_WORDS, i);
    copies[row_logits + i] = select(-infinity(), logits[row_logits + i], allowed);
  }
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
  for (var i = biases + thread; i < biases + dry; i += THREADS) {
    let id = word(words, WORD_BIASES + 2u * i);
    if (id >= 0 && u32(id) < VOCABULARY) { copies[row_logits + u32(id)] -= number(words, WORD_BIASES + 2u * i + 1u); }
  }
  storageBarrier();
  if (sigma > 0.0) { keep_top_n_sigma(sigma, thread); }
  storageBarrier();
  adjusted = true;
  return true;
}

fn logarithm_of(logit: f32) -> f32 { return select(logit - stage_largest, 0.0, logit == stage_largest) - log_total; }

// The log-probabilities of the sampled token and of the most likely ones under the raw logits.
fn write_report(token: i32, best: vec2<u32>, wanted: u32, at: u32, thread: u32) {
  if (thread == 0u) {
    report[at] = bitcast<u32>(token);
    report[at + 1u] = select(bitcast<u32>(logarithm_of(full_logit(u32(max(token, 0))))), 0x7fc00000u, token < 0);
  }
  var next = best;
  for (var rank = 0u; rank < wanted; rank++) {
    if (thread == 0u) {
      report[at + 2u + 2u * rank] = select(~next.y, 0u, is_zero(next));
      report[at + 3u + 2u * rank] = select(bitcast<u32>(logarithm_of(from_ordered(next.x))), 0xff800000u, is_zero(next));
    }
    var below = vec2<u32>();
    for (var i = thread; i < VOCABULARY; i += THREADS) {
      let own = rank_of(full_logit(i), i);
      if (wide_less(own, next)) { below = wide_max(below, own); }
    }
    next = workgroup_max(below, thread);
  }
}

// All tokens are candidates again, with the raw logits.
fn forget_stages() {
  adjusted = false;
  listed = false;
  typical = false;
  token_count = VOCABULARY;
  min_rank = vec2<u32>();
  max_rank = vec2<u32>(0xffffffffu, 0xffffffffu);
}

// What a stage makes of the least key that it keeps.
fn narrow(stage: u32, least: vec2<u32>, thread: u32) {
  switch (stage) {
    case STAGE_BOUND: { list_tokens(least, thread); }
    case STAGE_TYPICAL: {
      min_typicality = least;
      typical = true;
    }
    default: { min_rank = wide_max(min_rank, least); }
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
  let report_at = output * 2u * (1u + ALTERNATIVES);
  let raw = workgroup_max(own_best_logit(thread), thread);
  if (is_zero(raw) || raw.x >= NON_FINITE_RANK) {
    if (thread == 0u) {
      tokens[output] = NO_TOKEN_NON_FINITE;
      if (word(words, WORD_LOG_PROBABILITIES) >= 0) {
        report[report_at] = bitcast<u32>(NO_TOKEN_NON_FINITE);
        report[report_at + 1u] = 0x7fc00000u;
      }
    }
    return;
  }
  let changed = adjust(words, slot, position, thread);
  let draws = number(words, WORD_TEMPERATURE) > 0.0;
  var token = NO_TOKEN_FORBIDDEN;
  var temperature = number(words, WORD_TEMPERATURE);
  for (var stage = STAGE_BOUND; stage <= STAGE_REPORT; stage++) {
    if (!is_wanted(words, stage, position)) { continue; }
    if (stage == STAGE_REPORT) { forget_stages(); }
    // Where nothing was changed, the best is known.
    if (stage == STAGE_CHOICE && !draws && !changed) {
      token = i32(~raw.y);
      continue;
    }
    per_temperature = select(1.0, 1.0 / temperature, stage == STAGE_CHOICE && draws);
    var own_best = vec2<u32>();
    for (var i = thread; i < token_count; i += THREADS) { own_best = wide_max(own_best, candidate_rank(i)); }
    pairs_of_threads[thread] = own_best;
    let best = workgroup_max(own_best, thread);
    stage_largest = from_ordered(best.x);
    if (stage == STAGE_MIN_P) {
      min_rank = wide_max(min_rank, vec2<u32>(ordered(stage_largest + logarithm(number(words, WORD_MIN_P))), 0u));
      continue;
    }
    if (stage == STAGE_CHOICE && !draws) {
      token = select(i32(~best.y), NO_TOKEN_FORBIDDEN, is_zero(best));
      continue;
    }
    // The choice goes over neighbouring tokens, whose weights it cumulates.
    let stretch = (token_count + THREADS - 1u) / THREADS;
    let chooses = stage == STAGE_CHOICE;
    let first = select(thread, min(thread * stretch, token_count), chooses);
    let end = select(key_count(stage), min(first + stretch, token_count), chooses);
    let own = weight_between(stage, first, end, select(THREADS, 1u, chooses));
    let upto = sum_up_to(own, thread);
    if (thread == THREADS - 1u) {
      found = vec4<u32>(upto, 0u, 0u);
      chosen = 0u;
    }
    let total = workgroupUniformLoad(&found).xy;
    log_total = log_of_total(total);
    if (stage == STAGE_XTC) {
      drop_top_choices(number(words, WORD_XTC_THRESHOLD), total, thread);
      continue;
    }
    if (stage == STAGE_TEMPERATURE) {
      temperature = dynamic_temperature(words, total, thread);
      continue;
    }
    if (stage == STAGE_REPORT) {
      write_report(token, best, min(u32(word(words, WORD_LOG_PROBABILITIES)), ALTERNATIVES), report_at, thread);
      continue;
    }
    if (chooses) {
      pick(draw_uniform(words, position, 0u), upto, own, total, first, end);
      token = select(i32(workgroupUniformLoad(&chosen)), NO_TOKEN_FORBIDDEN, is_zero(total));
      continue;
    }
    if (stage == STAGE_TYPICAL) {
      typical_largest = stage_largest;
      typical_log_total = log_total;
      entropy = expected_surprise(total, thread);
    }
    let goal = stage_goal(words, stage, total);
    if (is_zero(goal)) { continue; }
    narrow(stage, radix_select(stage, goal, thread), thread);
  }
  if (thread == 0u) { tokens[output] = token; }
}
`;

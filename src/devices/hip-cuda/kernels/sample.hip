// Samples a token for each output row: the stages of the contract's `sampleRow`, a block a row.
#include "sample-select.h"
#include "sampling-names.h"

/// What the draw of XTC's chance differs by from the draw of the token.
constexpr u32 XTC_SEED = 0x9e3779b9u;
/// The least temperature that entropy leads to, unless the middle one is less.
constexpr f64 MIN_DYNAMIC = 1.0 / 1024;

struct Parameters {
  const i32* words;

  DEVICE_MEMBER f32 real(i32 word) const { return bit_cast<f32>(words[word]); }
};

/// Lowers the logits of the tokens in `history[start .. end)`; a token's first occurrence does it for all.
NOINLINE void penalize(f32* logits, i32 vocabulary, const i32* history, i32 start, i32 end, const Parameters& of) {
  f64 repeat = of.real(WORD_REPEAT_PENALTY), frequency = of.real(WORD_FREQUENCY_PENALTY);
  f64 presence = of.real(WORD_PRESENCE_PENALTY);
  for (i32 i = start + thread(); i < end; i += SAMPLE_THREADS) {
    i32 id = history[i], times = 0;
    bool first = id >= 0 && id < vocabulary;
    for (i32 j = start; first && j < end; j++) {
      if (history[j] != id) continue;
      if (j < i) first = false;
      times++;
    }
    if (!first) continue;
    f64 logit = logits[id], repeated = logit > 0 ? logit / repeat : logit * repeat;
    logits[id] = f32(repeated - times * frequency - presence);
  }
}

/// Forbids the tokens whose logit is more than `n` standard deviations below the largest.
NOINLINE void keep_top_n_sigma(f32* logits, i32 vocabulary, f64 n, Workspace& shared) {
  u64 best = 0;
  f64 known = 0, sum = 0, squares = 0;
  for (i32 i = thread(); i < vocabulary; i += SAMPLE_THREADS) {
    u64 rank = rank_of(logits[i], i);
    best = max_of(best, rank);
    if (rank) known += 1, sum += logits[i];
  }
  best = block_max(best, shared);
  barrier();
  known = block_sum<SAMPLE_WARPS>(known, shared.warp_sums);
  barrier();
  sum = block_sum<SAMPLE_WARPS>(sum, shared.warp_sums);
  if (best == 0) return;
  f64 mean = sum / known;
  for (i32 i = thread(); i < vocabulary; i += SAMPLE_THREADS) {
    if (logits[i] > MINUS_INFINITY) squares += (logits[i] - mean) * (logits[i] - mean);
  }
  barrier();
  squares = block_sum<SAMPLE_WARPS>(squares, shared.warp_sums);
  for (i32 i = thread(); i < vocabulary; i += SAMPLE_THREADS) {
    f64 distance = f64(logit_of(best)) - f64(logits[i]);
    if (distance * distance * known > n * n * squares) logits[i] = MINUS_INFINITY;
  }
}

/// The logits after mask, bias, penalties, DRY and top-n-sigma: the row's own where none is asked for, else a changed copy.
NOINLINE const f32* adjust(const f32* logits, f32* copy, i32 vocabulary, const i32* history, const i32* mask,
                          i32 position, const Parameters& of, Workspace& shared) {
  i32 window = of.words[WORD_PENALTY_WINDOW], biases = of.words[WORD_BIAS_COUNT], dry = of.words[WORD_DRY_COUNT];
  bool penalized = window != 0 && (of.real(WORD_REPEAT_PENALTY) != 1 || of.real(WORD_FREQUENCY_PENALTY) != 0 ||
                                   of.real(WORD_PRESENCE_PENALTY) != 0);
  bool masked = of.words[WORD_MASKED] != 0;
  f32 sigma = of.real(WORD_TEMPERATURE) > 0 ? of.real(WORD_TOP_N_SIGMA) : 0;
  if (!penalized && !masked && biases == 0 && dry == 0 && sigma <= 0) return logits;
  for (i32 i = thread(); i < vocabulary; i += SAMPLE_THREADS) {
    bool allowed = !masked || ((u32(mask[i >> 5]) >> (i & 31)) & 1u);
    copy[i] = allowed ? logits[i] : MINUS_INFINITY;
  }
  barrier();
  for (i32 i = thread(); i < biases; i += SAMPLE_THREADS) {
    i32 id = of.words[WORD_BIASES + 2 * i];
    if (id >= 0 && id < vocabulary) copy[id] += of.real(WORD_BIASES + 2 * i + 1);
  }
  barrier();
  i32 end = position + 1, start = window < 0 ? 0 : max_of(0, end - window);
  if (penalized) penalize(copy, vocabulary, history, start, end, of);
  barrier();
  for (i32 i = biases + thread(); i < biases + dry; i += SAMPLE_THREADS) {
    i32 id = of.words[WORD_BIASES + 2 * i];
    if (id >= 0 && id < vocabulary) copy[id] -= of.real(WORD_BIASES + 2 * i + 1);
  }
  barrier();
  if (sigma > 0) keep_top_n_sigma(copy, vocabulary, sigma, shared);
  barrier();
  return copy;
}

/// The first output of pcg3d, as `drawUniform` of the contract.
DEVICE f64 draw_uniform(u32 seed_low, u32 seed_high, u32 position) {
  u32 x = seed_low * 1664525u + 1013904223u, y = seed_high * 1664525u + 1013904223u, z = position * 1664525u + 1013904223u;
  x += y * z;
  y += z * x;
  z += x * y;
  x ^= x >> 16;
  y ^= y >> 16;
  z ^= z >> 16;
  x += y * z;
  return f64(x >> 8) * (1.0 / 16777216);
}

/// The candidates that are left: those from a rank on, up to another one, and, after the typical stage, from a typicality on.
struct Candidates {
  u64 min_rank, min_typicality, min_typical_id;
  f64 entropy, log_total;
  f32 typical_largest;
  bool typical;
  u64 max_rank;

  /// Tokens near the expected surprise come first.
  DEVICE_MEMBER u64 typicality(f32 logit) const {
    f64 surprise = logit == typical_largest ? log_total : log_total + f64(typical_largest) - f64(logit);
    f64 distance = surprise - entropy;
    return ordered(distance < 0 ? distance : -distance);
  }
  /// The token's rank, 0 when it is no candidate any more.
  DEVICE_MEMBER u64 rank(f32 logit, i32 id) const {
    u64 own = rank_of(logit, id);
    if (own == 0 || own < min_rank || own > max_rank) return 0;
    if (!typical) return own;
    u64 near = typicality(logit);
    if (near != min_typicality) return near > min_typicality ? own : 0;
    return u64(u32(~id)) >= min_typical_id ? own : 0;
  }
};

NOINLINE u64 best_rank(const Tokens& tokens, const Candidates& candidates, Workspace& shared) {
  u64 best = 0;
  for (i32 i = thread(); i < tokens.count; i += SAMPLE_THREADS) {
    best = max_of(best, candidates.rank(tokens.logits[i], tokens.id(i)));
  }
  return block_max(best, shared);
}

NOINLINE u64 total_weight(const Tokens& tokens, const Candidates& candidates, f32 largest, f64 per_temperature, Workspace& shared) {
  u64 total = 0;
  for (i32 i = thread(); i < tokens.count; i += SAMPLE_THREADS) {
    f32 logit = tokens.logits[i];
    if (candidates.rank(logit, tokens.id(i))) total += weight_of(logit, largest, per_temperature);
  }
  return block_total(total, shared);
}

/// The fraction `p` of a sum of weights that a stage keeps, at least a little.
DEVICE u64 goal_of(f64 p, u64 total) {
  f64 goal = p * f64(total);
  u64 whole = u64(goal);
  if (f64(whole) < goal) whole++;
  return min_of(max_of(whole, u64(1)), total);
}

/// The expected surprise of the candidates, in nats.
NOINLINE f64 entropy_of(const Tokens& tokens, const Candidates& candidates, f32 largest, u64 total, Workspace& shared) {
  f64 log_total = logarithm(f64(total) * (1.0 / f64(WEIGHT_ONE))), part = 0;
  for (i32 i = thread(); i < tokens.count; i += SAMPLE_THREADS) {
    f32 logit = tokens.logits[i];
    if (!candidates.rank(logit, tokens.id(i))) continue;
    f64 distance = logit == largest ? 0 : f64(logit) - f64(largest);
    f64 probability = f64(weight_of(logit, largest, 1)) / f64(total);
    if (probability > 0) part -= probability * (distance - log_total);
  }
  barrier();
  return block_sum<SAMPLE_WARPS>(part, shared.warp_sums);
}

NOINLINE void keep_typical(const Tokens& tokens, Candidates& candidates, f64 p, Workspace& shared) {
  f32 largest = logit_of(best_rank(tokens, candidates, shared));
  u64 total = total_weight(tokens, candidates, largest, 1, shared);
  candidates.entropy = entropy_of(tokens, candidates, largest, total, shared);
  candidates.log_total = logarithm(f64(total) * (1.0 / f64(WEIGHT_ONE)));
  candidates.typical_largest = largest;
  u64 goal = goal_of(p, total);
  auto weight = [&](i32 i) { return weight_of(tokens.logits[i], largest, 1); };
  // The typicality at which the sum is reached, then among the tokens of just this one the last id.
  auto near = [&](i32 i) {
    return candidates.rank(tokens.logits[i], tokens.id(i)) ? candidates.typicality(tokens.logits[i]) : u64(0);
  };
  u64 edge = radix_select(tokens.count, goal, shared, near, weight);
  u64 above = 0, lowest = ~0ull;
  for (i32 i = thread(); i < tokens.count; i += SAMPLE_THREADS) {
    u64 own = near(i);
    if (own >= edge) lowest = min_of(lowest, own);
  }
  edge = ~block_max(~lowest, shared);
  for (i32 i = thread(); i < tokens.count; i += SAMPLE_THREADS) {
    if (near(i) > edge) above += weight(i);
  }
  above = block_total(above, shared);
  u64 last = 0;
  if (above < goal) {
    last = radix_select(
        tokens.count, goal - above, shared, [&](i32 i) { return near(i) == edge ? u64(u32(~tokens.id(i))) : u64(0); }, weight);
  }
  candidates.min_typicality = edge;
  candidates.min_typical_id = last;
  candidates.typical = true;
}

NOINLINE void keep_top_p(const Tokens& tokens, Candidates& candidates, f64 p, Workspace& shared) {
  f32 largest = logit_of(best_rank(tokens, candidates, shared));
  u64 goal = goal_of(p, total_weight(tokens, candidates, largest, 1, shared));
  u64 least = radix_select(
      tokens.count, goal, shared, [&](i32 i) { return candidates.rank(tokens.logits[i], tokens.id(i)); },
      [&](i32 i) { return weight_of(tokens.logits[i], largest, 1); });
  candidates.min_rank = max_of(candidates.min_rank, least);
}

NOINLINE void keep_min_p(const Tokens& tokens, Candidates& candidates, f64 p, Workspace& shared) {
  f64 floor = f64(logit_of(best_rank(tokens, candidates, shared))) + logarithm(p);
  f32 least = f32(floor);
  u32 word = ordered(least);
  if (f64(least) < floor) word++;
  candidates.min_rank = max_of(candidates.min_rank, u64(word) << 32);
}

/// Of the tokens that are at least as likely as the threshold drops all but the least likely one.
NOINLINE void drop_top_choices(const Tokens& tokens, Candidates& candidates, f64 threshold, Workspace& shared) {
  f32 largest = logit_of(best_rank(tokens, candidates, shared));
  f64 least = threshold * f64(total_weight(tokens, candidates, largest, 1, shared));
  u64 lowest = ~0ull;
  for (i32 i = thread(); i < tokens.count; i += SAMPLE_THREADS) {
    u64 own = candidates.rank(tokens.logits[i], tokens.id(i));
    if (own && f64(weight_of(tokens.logits[i], largest, 1)) >= least) lowest = min_of(lowest, own);
  }
  candidates.max_rank = ~block_max(~lowest, shared);
}

/// The temperature that follows the entropy of the candidates.
NOINLINE f64 dynamic_temperature(const Tokens& tokens, const Candidates& candidates, const Parameters& of, Workspace& shared) {
  f64 temperature = of.real(WORD_TEMPERATURE), range = of.real(WORD_DYNATEMP_RANGE);
  f32 largest = logit_of(best_rank(tokens, candidates, shared));
  u64 known = 0;
  for (i32 i = thread(); i < tokens.count; i += SAMPLE_THREADS) known += candidates.rank(tokens.logits[i], tokens.id(i)) != 0;
  known = block_total(known, shared);
  if (known < 2) return temperature;
  u64 total = total_weight(tokens, candidates, largest, 1, shared);
  f64 part = entropy_of(tokens, candidates, largest, total, shared) / logarithm(f64(known));
  f64 low = max_of(temperature - range, min_of(temperature, MIN_DYNAMIC));
  f64 power = part > 0 ? exponential_f64(of.real(WORD_DYNATEMP_EXPONENT) * logarithm(part)) : 0;
  return low + (temperature + range - low) * power;
}

/// The first token by id at which the cumulative weights pass the drawn fraction of their sum. Each warp has a stretch of tokens.
NOINLINE i32 pick(const Tokens& tokens, const Candidates& candidates, f64 per_temperature, f64 uniform, Workspace& shared) {
  f32 largest = logit_of(best_rank(tokens, candidates, shared));
  i32 warp = thread() >> 5, stretch = ((tokens.count + SAMPLE_WARPS - 1) / SAMPLE_WARPS + 31) / 32 * 32;
  i32 begin = min_of(warp * stretch, tokens.count), end = min_of(begin + stretch, tokens.count);
  auto weight = [&](i32 i) {
    f32 logit = i < end ? tokens.logits[i] : MINUS_INFINITY;
    return i < end && candidates.rank(logit, tokens.id(i)) ? weight_of(logit, largest, per_temperature) : u64(0);
  };
  u64 own = 0;
  for (i32 i = begin + lane(); i < end; i += 32) own += weight(i);
  own = warp_sum(own);
  barrier();
  if (lane() == 0) shared.warp_weights[warp] = own;
  if (thread() == 0) shared.chosen = 0;
  barrier();
  u64 before = 0, total = 0;
  for (i32 w = 0; w < SAMPLE_WARPS; w++) {
    if (w < warp) before += shared.warp_weights[w];
    total += shared.warp_weights[w];
  }
  f64 goal = uniform * f64(total);
  // All warps walk their stretch, so that no lane of a wider wave is left out; only one passes the goal.
  for (i32 step = 0; step < stretch; step += 32) {
    i32 i = begin + step + lane();
    u64 value = weight(i), upto = before + sum_up_to(value);
    if (value > 0 && f64(upto) > goal && f64(upto - value) <= goal) shared.chosen = tokens.id(i);
    before = (u64(shuffle_from(u32(upto >> 32), 31)) << 32) | shuffle_from(u32(upto), 31);
  }
  barrier();
  return shared.chosen;
}

DEVICE i32 draw(Tokens tokens, const Parameters& of, i32 position, Workspace& shared) {
  i32 k = of.words[WORD_TOP_K];
  Candidates candidates = {1, 0, 0, 0, 0, 0, false, ~0ull};
  if (k > 0 && k < tokens.count) {
    candidates.min_rank = top_k_rank(tokens, k, shared);
    if (k <= LIST_CAPACITY) {
      tokens = gather(tokens, candidates.min_rank, shared);
    }
  }
  if (best_rank(tokens, candidates, shared) == 0) return NO_TOKEN_FORBIDDEN;
  f32 typical_p = of.real(WORD_TYPICAL_P), top_p = of.real(WORD_TOP_P), min_p = of.real(WORD_MIN_P);
  if (typical_p < 1) keep_typical(tokens, candidates, typical_p, shared);
  if (top_p < 1) keep_top_p(tokens, candidates, top_p, shared);
  if (min_p > 0) keep_min_p(tokens, candidates, min_p, shared);
  u32 seed_low = of.words[WORD_SEED_LOW], seed_high = of.words[WORD_SEED_HIGH];
  f32 chance = of.real(WORD_XTC_PROBABILITY);
  if (chance > 0 && draw_uniform(seed_low ^ XTC_SEED, seed_high, position) < chance) {
    drop_top_choices(tokens, candidates, of.real(WORD_XTC_THRESHOLD), shared);
  }
  bool dynamic = of.real(WORD_DYNATEMP_RANGE) > 0;
  f64 temperature = dynamic ? dynamic_temperature(tokens, candidates, of, shared) : f64(of.real(WORD_TEMPERATURE));
  return pick(tokens, candidates, 1.0 / temperature, draw_uniform(seed_low, seed_high, position), shared);
}

/// The log-probabilities of the sampled token and of the most likely ones under the raw logits.
NOINLINE void write_report(const Tokens& tokens, i32 token, i32 wanted, f32* report, Workspace& shared) {
  Candidates everyone = {1, 0, 0, 0, 0, 0, false, ~0ull};
  u64 best = best_rank(tokens, everyone, shared);
  f32 largest = logit_of(best);
  u64 total = total_weight(tokens, everyone, largest, 1, shared);
  f64 log_total = logarithm(f64(total) * (1.0 / f64(WEIGHT_ONE)));
  auto log_of = [&](f32 logit) { return f32((logit == largest ? 0 : f64(logit) - f64(largest)) - log_total); };
  if (thread() == 0) {
    report[0] = bit_cast<f32>(token);
    report[1] = token < 0 ? bit_cast<f32>(0x7fc00000u) : log_of(tokens.logits[token]);
  }
  u64 next = best;
  for (i32 rank = 0; rank < wanted; rank++) {
    if (thread() == 0) {
      report[2 + 2 * rank] = bit_cast<f32>(next ? id_of(next) : 0);
      report[3 + 2 * rank] = next ? log_of(logit_of(next)) : MINUS_INFINITY;
    }
    u64 below = 0;
    for (i32 i = thread(); next && i < tokens.count; i += SAMPLE_THREADS) {
      u64 own = rank_of(tokens.logits[i], i);
      if (own < next) below = max_of(below, own);
    }
    next = block_max(below, shared);
  }
}

/// The best rank of a thread's logits, NON_FINITE_RANK if there is Infinity or NaN. One block reads a whole row: so several loads at
/// once, and few instructions for each.
DEVICE u64 best_of_own(const f32* logits, i32 vocabulary) {
  constexpr i32 AT_ONCE = 8;
  f32 largest = MINUS_INFINITY;
  i32 id = 0;
  bool finite = true;
  for (i32 first = thread(); first < vocabulary; first += AT_ONCE * SAMPLE_THREADS) {
    f32 own[AT_ONCE];
    UNROLL for (i32 i = 0; i < AT_ONCE; i++) {
      i32 at = first + i * SAMPLE_THREADS;
      own[i] = at < vocabulary ? logits[at] : MINUS_INFINITY;
    }
    UNROLL for (i32 i = 0; i < AT_ONCE; i++) {
      finite = finite && own[i] < PLUS_INFINITY;
      if (own[i] > largest) largest = own[i], id = first + i * SAMPLE_THREADS;
    }
  }
  return finite ? rank_of(largest, id) : NON_FINITE_RANK;
}

KERNEL(sample_rows, SAMPLE_THREADS, const i32* count, const f32* logits, const i32* parameters, i32 parameter_words,
       const i32* history, i32 history_width, const i32* masks, i32 mask_words, const i32* output_rows, const i32* slots, const i32* positions, f32* copies,
       i32* tokens, f32* reports, i32 vocabulary, i32 alternatives) {
  SHARED Workspace shared;
  grid_dependency_wait();
  i32 output = block_x();
  if (output >= *count) return;
  i32 row = output_rows[output], position = positions[row];
  Parameters of = {parameters + i64(output) * parameter_words};
  const f32* raw = logits + i64(output) * vocabulary;
  const i32* past = history + i64(slots[row]) * history_width;
  const i32* mask = masks + i64(slots[row]) * mask_words;
  f32* report = reports + i64(output) * 2 * (1 + alternatives);
  i32 wanted = of.words[WORD_LOG_PROBABILITIES];
  u64 best = block_max(best_of_own(raw, vocabulary), shared);
  if (best == 0 || best >= NON_FINITE_RANK) {
    if (thread() != 0) return;
    tokens[output] = NO_TOKEN_NON_FINITE;
    if (wanted < 0) return;
    report[0] = bit_cast<f32>(NO_TOKEN_NON_FINITE);
    report[1] = bit_cast<f32>(0x7fc00000u);
    return;
  }
  Tokens all = {adjust(raw, copies + i64(output) * vocabulary, vocabulary, past, mask, position, of, shared), nullptr, vocabulary};
  i32 token;
  if (of.real(WORD_TEMPERATURE) > 0) {
    token = draw(all, of, position, shared);
  } else {
    // Where nothing was changed, the best is known.
    if (all.logits != raw) {
      best = 0;
      for (i32 i = thread(); i < vocabulary; i += SAMPLE_THREADS) best = max_of(best, rank_of(all.logits[i], i));
      best = block_max(best, shared);
    }
    token = best ? id_of(best) : NO_TOKEN_FORBIDDEN;
  }
  if (wanted >= 0) {
    Tokens unchanged = {raw, nullptr, vocabulary};
    write_report(unchanged, token, min_of(wanted, alternatives), report, shared);
  }
  if (thread() == 0) tokens[output] = token;
}

/**
 * A workgroup routes a row: gates of all experts, then the best scores one after another. Requires `gate_of(logit, largest)`,
 * `gate_factor(sum)`, `bias_of(expert)`, `drop_groups(thread)` and `next_place(choice, thread)`.
 */
export const ROUTE_EXPERTS = /* wgsl */ `
const LOWEST = -1.0e38;
var<workgroup> gates: array<f32, EXPERTS>;
var<workgroup> scores: array<f32, EXPERTS>;

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  let row = group.x;
  if (row >= u32(counts[COUNT])) { return; }
  var largest = LOWEST;
  for (var e = thread; e < EXPERTS; e += THREADS) { largest = max(largest, x[row * EXPERTS + e]); }
  largest = team_max(largest, thread);
  var sum = 0.0;
  for (var e = thread; e < EXPERTS; e += THREADS) {
    gates[e] = gate_of(x[row * EXPERTS + e], largest);
    sum += gates[e];
  }
  let factor = gate_factor(team_sum(sum, thread));
  for (var e = thread; e < EXPERTS; e += THREADS) {
    gates[e] *= factor;
    scores[e] = gates[e] + bias_of(e);
  }
  workgroupBarrier();
  drop_groups(thread);
  var total = 0.0;
  for (var j = 0u; j < TOP_K; j++) {
    let place = next_place(row * TOP_K + j, thread);
    workgroupBarrier();
    total += gates[place];
    if (thread == 0u) {
      experts[row * TOP_K + j] = i32(place);
      routing_weights[row * TOP_K + j] = gates[place];
      scores[place] = 2.0 * LOWEST;
    }
    workgroupBarrier();
  }
  let scale = SCALE / select(1.0, max(total, MIN_WEIGHT_SUM), NORMALIZED);
  if (thread == 0u) { for (var j = 0u; j < TOP_K; j++) { routing_weights[row * TOP_K + j] *= scale; } }
}
`;

/** The best score that is left. */
export const BEST_PLACE = /* wgsl */ `
fn next_place(choice: u32, thread: u32) -> u32 {
  var best = LOWEST;
  for (var e = thread; e < EXPERTS; e += THREADS) { best = max(best, scores[e]); }
  best = team_max(best, thread);
  var place = EXPERTS - 1u;
  for (var e = thread; e < EXPERTS; e += THREADS) { if (scores[e] == best) { place = min(place, e); } }
  return u32(-team_max(-f32(place), thread));
}
`;

/** An expert that was chosen before. */
export const CHOSEN_PLACE = `fn next_place(choice: u32, thread: u32) -> u32 { return u32(clamp(chosen[choice], 0.0, f32(EXPERTS - 1u))); }`;

/** What makes gates of logits. */
export const GATES = {
  softmax: /* wgsl */ `
fn gate_of(logit: f32, largest: f32) -> f32 { return exponential(logit - largest); }
fn gate_factor(sum: f32) -> f32 { return 1.0 / sum; }
`,
  sigmoid: /* wgsl */ `
fn gate_of(logit: f32, largest: f32) -> f32 { return 1.0 / (1.0 + exponential(-logit)); }
fn gate_factor(sum: f32) -> f32 { return 1.0; }
`,
  sqrt_softplus: /* wgsl */ `
fn gate_of(logit: f32, largest: f32) -> f32 { return sqrt(max(0.0, logit) + logarithm_of_one_plus(exponential(-abs(logit)))); }
fn gate_factor(sum: f32) -> f32 { return 1.0; }
`,
} as const;

export const SCORES_BIASED = `fn bias_of(expert: u32) -> f32 { return bias[expert]; }`;
export const SCORES_PLAIN = `fn bias_of(expert: u32) -> f32 { return 0.0; }`;

export const ALL_GROUPS = `fn drop_groups(thread: u32) {}`;

/** Leaves the best groups, by the sum of each one's two best scores. */
export const BEST_GROUPS = /* wgsl */ `
const GROUP_SIZE = EXPERTS / GROUPS;
fn drop_groups(thread: u32) {
  if (thread == 0u) {
    var sums: array<f32, GROUPS>;
    for (var g = 0u; g < GROUPS; g++) {
      var best = LOWEST;
      var second = select(LOWEST, 0.0, GROUP_SIZE == 1u);
      for (var i = 0u; i < GROUP_SIZE; i++) {
        let score = scores[g * GROUP_SIZE + i];
        if (score > best) {
          second = select(best, 0.0, GROUP_SIZE == 1u);
          best = score;
        } else { second = max(second, score); }
      }
      sums[g] = best + second;
    }
    for (var dropped = 0u; dropped < GROUPS - TOP_K_GROUPS; dropped++) {
      var worst = 0u;
      for (var g = 1u; g < GROUPS; g++) { if (sums[g] <= sums[worst]) { worst = g; } }
      sums[worst] = -2.0 * LOWEST;
      for (var i = 0u; i < GROUP_SIZE; i++) { scores[worst * GROUP_SIZE + i] = 2.0 * LOWEST; }
    }
  }
  workgroupBarrier();
}
`;

/** The routed experts' results by their experts' scales. */
export const SCALE_EXPERTS = /* wgsl */ `
fn value_of(at: u32) -> f32 {
  let expert = experts[at / EXPERT_WIDTH];
  if (expert < 0 || u32(expert) >= EXPERTS) { return 0.0; }
  return x[at] * scales[expert];
}
`;

/** The choices' results by their routing weights; `addend` may be added to them. */
export const combineExpertsText = (of: { readonly addend: boolean }): string => /* wgsl */ `
fn value_of(at: u32) -> f32 {
  let row = at / WIDTH;
  var sum = 0.0;
  for (var j = 0u; j < TOP_K; j++) { sum += routing_weights[row * TOP_K + j] * x[(row * TOP_K + j) * WIDTH + at % WIDTH]; }
  return sum${of.addend ? ' + addend[at]' : ''};
}
`;

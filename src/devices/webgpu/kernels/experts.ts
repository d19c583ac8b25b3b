/**
 * A workgroup routes a row: gates of all experts, then the best scores one after the other. Wants `gate_of(logit, largest)`,
 * `gate_factor(sum)`, `bias_of(expert)` and `drop_groups(thread)`.
 */
export const ROUTE_EXPERTS = /* wgsl */ `
const LEAST = -1.0e38;
var<workgroup> gates: array<f32, EXPERTS>;
var<workgroup> scores: array<f32, EXPERTS>;

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  let row = group.x;
  if (row >= u32(counts[COUNT])) { return; }
  var largest = LEAST;
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
  for (var j = 0u; j < CHOSEN; j++) {
    var best = LEAST;
    for (var e = thread; e < EXPERTS; e += THREADS) { best = max(best, scores[e]); }
    best = team_max(best, thread);
    var place = EXPERTS - 1u;
    for (var e = thread; e < EXPERTS; e += THREADS) { if (scores[e] == best) { place = min(place, e); } }
    place = u32(-team_max(-f32(place), thread));
    workgroupBarrier();
    total += gates[place];
    if (thread == 0u) {
      experts[row * CHOSEN + j] = i32(place);
      shares[row * CHOSEN + j] = gates[place];
      scores[place] = 2.0 * LEAST;
    }
    workgroupBarrier();
  }
  let scale = SCALE / select(1.0, max(total, LEAST_SHARE_SUM), NORMALIZED);
  if (thread == 0u) { for (var j = 0u; j < CHOSEN; j++) { shares[row * CHOSEN + j] *= scale; } }
}
`;

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
      var best = LEAST;
      var second = select(LEAST, 0.0, GROUP_SIZE == 1u);
      for (var i = 0u; i < GROUP_SIZE; i++) {
        let score = scores[g * GROUP_SIZE + i];
        if (score > best) {
          second = select(best, 0.0, GROUP_SIZE == 1u);
          best = score;
        } else { second = max(second, score); }
      }
      sums[g] = best + second;
    }
    for (var dropped = 0u; dropped < GROUPS - CHOSEN_GROUPS; dropped++) {
      var least = 0u;
      for (var g = 1u; g < GROUPS; g++) { if (sums[g] <= sums[least]) { least = g; } }
      sums[least] = -2.0 * LEAST;
      for (var i = 0u; i < GROUP_SIZE; i++) { scores[least * GROUP_SIZE + i] = 2.0 * LEAST; }
    }
  }
  workgroupBarrier();
}
`;

/**
 * A workgroup computes `OUTPUTS` outputs of a choice of a row, as far as they lie in the chunk of the weight. Wants
 * `load_ahead(row, lane)` and `row_product(row, ahead, lane)` of one row of activations, which is row `x_row()`.
 */
export const MATMUL_EXPERTS = /* wgsl */ `
const TEAMS = THREADS / 32u;
var<private> choice: u32;
fn x_row() -> u32 { return choice / CHOICES_A_ROW; }

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  if (group.y >= u32(counts[COUNT]) * CHOSEN) { return; }
  choice = group.y;
  let expert = min(u32(experts[choice]), EXPERTS - 1u);
  let lane = thread % 32u;
  for (var item = 0u; item < OUTPUTS / TEAMS; item++) {
    let n = group.x * OUTPUTS + item * TEAMS + thread / 32u;
    let row = expert * EXPERT_ROWS + min(n, EXPERT_ROWS - 1u);
    let inside = row >= FIRST_ROW && row - FIRST_ROW < CHUNK_ROWS;
    let own = select(0u, row - FIRST_ROW, inside);
    let sum = team_sum(row_product(own, load_ahead(own, lane), lane)[0], thread);
    if (inside && lane == 0u && n < EXPERT_ROWS) { y[choice * EXPERT_ROWS + n] = sum; }
  }
}
`;

/** Quantized activations of the choice. */
export const EXPERT_ACTIVATIONS = /* wgsl */ `
fn activations_of(r: u32, g: u32) -> Quantized {
  let at = x_row() * GROUPS + g;
  let scales = x[X_SCALES_AT / 4u + (at >> 1u)];
  return Quantized(x[2u * at], x[2u * at + 1u], select(scales.xy, scales.zw, (at & 1u) == 1u));
}
`;

/** f32 products of decoded weights; wants `x4`. */
export const EXPERT_DENSE_PRODUCT = /* wgsl */ `
fn load_ahead(row: u32, lane: u32) -> u32 { return 0u; }
fn row_product(row: u32, ahead: u32, lane: u32) -> array<f32, 1> {
  var sum = 0.0;
  for (var k = lane; k < QUADS; k += 32u) { sum += dot(weight4(row, k), x4(x_row(), k)); }
  return array<f32, 1>(sum);
}
`;

/** The chosen experts' results by their experts' factors. */
export const SCALE_EXPERTS = /* wgsl */ `
fn value_of(at: u32) -> f32 {
  let expert = experts[at / EXPERT_WIDTH];
  if (expert < 0 || u32(expert) >= EXPERTS) { return 0.0; }
  return x[at] * scales[expert];
}
`;

/** The choices' results by their shares. */
export const COMBINE_EXPERTS = /* wgsl */ `
fn value_of(at: u32) -> f32 {
  let row = at / WIDTH;
  var sum = 0.0;
  for (var j = 0u; j < CHOSEN; j++) { sum += shares[row * CHOSEN + j] * x[(row * CHOSEN + j) * WIDTH + at % WIDTH]; }
  return sum;
}
`;

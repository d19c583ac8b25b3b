/** What groups are multiplied by: one row of weights for all, a row each, or nothing. */
const WEIGHTS = {
  shared: ' * norm_weight[i]',
  'by group': ' * norm_weight[group.y * GROUP + i]',
  none: '',
} as const;

/** A workgroup normalizes `GROUP` values of a row by the root of their mean square; `addend` may be added to them. */
export const rmsNormText = (of: {
  readonly addend: boolean;
  readonly weight: keyof typeof WEIGHTS;
}): string => /* wgsl */ `
@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  if (group.x >= u32(counts[COUNT])) { return; }
  let start = group.x * WIDTH + group.y * GROUP;
  var square = 0.0;
  for (var i = thread; i < GROUP; i += THREADS) { square = fma(x[start + i], x[start + i], square); }
  let scale = 1.0 / sqrt(team_sum(square, thread) / f32(GROUP) + EPSILON);
  for (var i = thread; i < GROUP; i += THREADS) { y[start + i] = x[start + i] * scale${WEIGHTS[of.weight]}${of.addend ? ' + addend[start + i]' : ''}; }
}
`;

/** A workgroup computes the `mean` of a row, and each thread its part `square` of the squared deviations. */
const DEVIATION = /* wgsl */ `  var sum = 0.0;
  for (var i = thread; i < WIDTH; i += THREADS) { sum += x[start + i]; }
  let mean = team_sum(sum, thread) / f32(WIDTH);
  var square = 0.0;
  for (var i = thread; i < WIDTH; i += THREADS) {
    let centred = x[start + i] - mean;
    square = fma(centred, centred, square);
  }
`;

/** A workgroup normalizes a row by its mean and variance; `BIASED` adds a bias. */
export const LAYER_NORM = /* wgsl */ `
@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  if (group.x >= u32(counts[COUNT])) { return; }
  let start = group.x * WIDTH;
${DEVIATION}  let scale = 1.0 / sqrt(team_sum(square, thread) / f32(WIDTH) + EPSILON);
  for (var i = thread; i < WIDTH; i += THREADS) { y[start + i] = (x[start + i] - mean) * scale * norm_weight[i] + bias_of(i); }
}
`;

/** A workgroup keeps what lies above a threshold from the distribution of a row's values. */
export const GAUSSIAN_TOP_K = /* wgsl */ `
@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  if (group.x >= u32(counts[COUNT])) { return; }
  let start = group.x * WIDTH;
${DEVIATION}  let threshold = mean + DEVIATIONS * sqrt(team_sum(square, thread) / f32(WIDTH - 1u));
  for (var i = thread; i < WIDTH; i += THREADS) { y[start + i] = max(x[start + i] - threshold, 0.0); }
}
`;

export const WITH_BIAS = `fn bias_of(i: u32) -> f32 { return bias[i]; }`;
export const WITHOUT_BIAS = `fn bias_of(i: u32) -> f32 { return 0.0; }`;

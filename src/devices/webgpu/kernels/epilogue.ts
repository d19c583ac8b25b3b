/** Stores the sums with what `addend_of` adds to them. */
export const FLOATS_EPILOGUE = /* wgsl */ `
fn finish(rows: u32, group: u32, thread: u32) {
  for (var at = thread; at < ROWS * OUTPUTS; at += THREADS) {
    let r = at / OUTPUTS;
    let n = group * OUTPUTS + at % OUTPUTS;
    if (r < rows && n < PART_ROWS && is_held(n)) {
      let row = output_row(r);
      y[row * WIDTH + FIRST_ROW + n] = results[at] + addend_of(row, FIRST_ROW + n);
    }
  }
}
`;

/** What is added to output `n` of row `r`. */
export const ADDENDS = {
  none: `fn addend_of(r: u32, n: u32) -> f32 { return 0.0; }`,
  bias: `fn addend_of(r: u32, n: u32) -> f32 { return addend[n]; }`,
  residual: `fn addend_of(r: u32, n: u32) -> f32 { return addend[r * WIDTH + n]; }`,
  expert: `fn addend_of(r: u32, n: u32) -> f32 { return bias_of(0u, r, n); }`,
} as const;

/** The bias of output `n` of gate or up, or of the first part; of choice `r` its expert's. Requires `expert_of`. */
export const PART_BIASES = {
  none: `fn bias_of(part: u32, r: u32, n: u32) -> f32 { return 0.0; }`,
  expert: `fn bias_of(part: u32, r: u32, n: u32) -> f32 { return bias[(part * EXPERTS + expert_of(r)) * WIDTH + n]; }`,
} as const;

/** The expert of a choice, where results are one a choice, or tiles one an expert. */
export const EXPERT_OF = {
  choice: `fn expert_of(r: u32) -> u32 { return min(u32(experts[r]), EXPERTS - 1u); }`,
  tile: `fn expert_of(r: u32) -> u32 { return own_tile.z; }`,
} as const;

/** The biases of a row's choices by their routing weights, and another tensor where there is one. */
export const addedBiasesText = (of: { readonly addend: boolean }): string => /* wgsl */ `
fn addend_of(r: u32, n: u32) -> f32 {
  var sum = ${of.addend ? 'addend[r * WIDTH + n]' : '0.0'};
  for (var choice = r * TOP_K; choice < (r + 1u) * TOP_K; choice++) {
    sum += routing_weights[choice] * bias[min(u32(experts[choice]), EXPERTS - 1u) * WIDTH + n];
  }
  return sum;
}
`;

/** `gated(gate, up)`; for experts, times the choice's weight where routing weights are to be applied. */
export interface GatedEpilogueOptions {
  readonly weighted: boolean;
}

const routingWeight = ({ weighted }: GatedEpilogueOptions) =>
  weighted ? ' * routing_weights[output_row(r)]' : '';

/** Gate and up, whose sums of output `n` stand at `at`; requires `bias_of`. */
export const GATED_RESULT = /* wgsl */ `
fn gated_result(r: u32, n: u32, at: u32) -> f32 {
  let row = output_row(r);
  return gated(results[at] + bias_of(0u, row, n), results[ROWS * OUTPUTS + at] + bias_of(1u, row, n));
}
`;

/** The product of gate and up as f32. */
export const gatedEpilogueText = (of: GatedEpilogueOptions): string => /* wgsl */ `
fn finish(rows: u32, group: u32, thread: u32) {
  for (var at = thread; at < ROWS * OUTPUTS; at += THREADS) {
    let r = at / OUTPUTS;
    let n = group * OUTPUTS + at % OUTPUTS;
    if (r < rows && n < PART_ROWS) { y[output_row(r) * WIDTH + n] = gated_result(r, n, at)${routingWeight(of)}; }
  }
}
`;

/** The same, quantized for the product that reads it next; 32 outputs a workgroup. */
export const gatedQuantizedEpilogueText = (of: GatedEpilogueOptions): string => /* wgsl */ `
fn finish(rows: u32, group: u32, thread: u32) {
  for (var start = 0u; start < ROWS * OUTPUTS; start += THREADS) {
    let at = min(start + thread, ROWS * OUTPUTS - 1u);
    let r = at / OUTPUTS;
    let value = gated_result(r, min(group * OUTPUTS + at % OUTPUTS, PART_ROWS - 1u), at)${routingWeight(of)};
    quantize_team(value, thread, output_row(r) * (WIDTH / 32u) + group, start + thread < ROWS * OUTPUTS && r < rows);
  }
}
`;

/**
 * Queries, keys and values, 32 outputs a workgroup: queries and keys rotated by the rope table, keys and values appended to the
 * cache. A text of its own says which outputs a workgroup has (`HEAD_ROWS`); both elements of a pair are in one workgroup.
 */
export const HEADS_EPILOGUE = /* wgsl */ `
fn head_value(r: u32, i: u32, n: u32) -> f32 {
  let value = results[r * OUTPUTS + i] + addend_of(r, n);
  if (!is_rotated(n)) { return value; }
  let partner = results[r * OUTPUTS + select(i ^ 16u, i ^ 1u, INTERLEAVED)] + addend_of(r, partner_of(n));
  return rotated(r, n, value, partner);
}

fn finish(rows: u32, group: u32, thread: u32) {
  for (var at = thread * UNIT; at < ROWS * OUTPUTS; at += THREADS * UNIT) {
    let r = at / OUTPUTS;
    let i = at % OUTPUTS;
    let n = row_of(group, i);
    if (r >= rows || n >= PART_ROWS) { continue; }
    let first = head_value(r, i, n);
    var second = first;
    if (UNIT == 2u) { second = head_value(r, i + 1u, n + 1u); }
    store_heads(r, n, first, second);
  }
}
`;

/** Outputs in the file's order, where partners are neighbours or nothing is rotated. */
export const HEAD_ROWS_IN_ORDER = `fn row_of(group: u32, i: u32) -> u32 { return group * OUTPUTS + i; }`;

/** Where halves of a head are rotated together: 16 outputs of the first half beside their partners. */
export const HEAD_ROWS_BY_HALVES = /* wgsl */ `
fn row_of(group: u32, i: u32) -> u32 {
  if (group * OUTPUTS >= Q_WIDTH + K_WIDTH) { return group * OUTPUTS + i; }
  let groups = HEAD / OUTPUTS;
  return group / groups * HEAD + group % groups * 16u + (i & 15u) + (i >> 4u) * (HEAD / 2u);
}
`;

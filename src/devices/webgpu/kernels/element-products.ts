import { HALVES } from './library/halves.ts';
import type { DenseType } from './weights.ts';

/** A product of a group: weights and activations by the names of their parameters, activations in vectors from `inputAt` on. */
export interface GroupProduct {
  readonly weight: string;
  readonly input: string;
  readonly inputAt: number;
  readonly columns: number;
  readonly outputs: number;
  /** The workgroup after its last one. */
  readonly end: number;
  /** Statements that store what becomes of `value`, output `n` of `row`, the element `at` of the product's own. */
  readonly store: string;
}

/** Eight neighbouring weights, in vectors of the buffer. */
const EIGHT: Readonly<Record<DenseType, (weight: string) => string>> = {
  f32: (weight) => `Eight(bitcast<vec4<f32>>(${weight}[2u * i]), bitcast<vec4<f32>>(${weight}[2u * i + 1u]))`,
  f16: (weight) => `eight_f16(${weight}[i])`,
  bf16: (weight) => `eight_bf16(${weight}[i])`,
};

const WIDEN: Readonly<Record<DenseType, readonly string[]>> = {
  f32: [],
  f16: [
    HALVES,
    /* wgsl */ `
fn eight_f16(v: vec4<u32>) -> Eight {
  return Eight(vec4<f32>(unpack_half2(v.x), unpack_half2(v.y)), vec4<f32>(unpack_half2(v.z), unpack_half2(v.w)));
}
`,
  ],
  bf16: [
    /* wgsl */ `
fn pair(word: u32) -> vec2<f32> { return bitcast<vec2<f32>>(vec2<u32>(word << 16u, word & 0xffff0000u)); }
fn eight_bf16(v: vec4<u32>) -> Eight { return Eight(vec4<f32>(pair(v.x), pair(v.y)), vec4<f32>(pair(v.z), pair(v.w))); }
`,
  ],
};

const EIGHT_ELEMENTS = /* wgsl */ `
const TEAMS = THREADS / 32u;
struct Eight { low: vec4<f32>, high: vec4<f32> }
`;

/** From `a` towards `b`. */
export const LERP = `fn lerp(a: f32, b: f32, t: f32) -> f32 { return a + (b - a) * t; }`;

/**
 * Products of up to `ROWS` rows by unquantized weights, several in one launch: a team of 32 threads computes an output of `ROWS_AT_ONCE` rows,
 * a lane eight neighbouring columns at a time. Requires `team_sum`.
 */
export function elementProductsTexts(products: readonly GroupProduct[], type: DenseType): readonly string[] {
  const runs = products.map((product, p) => runText(product, p, EIGHT[type](product.weight)));
  const starts = [0, ...products.map(({ end }) => end)];
  const calls = products.map(
    ({ end }, p) =>
      `if (group.x < ${end}u) { run_${p}(group.x - ${starts[p]}u, group.y * ROWS_AT_ONCE, rows, thread); return; }`,
  );
  return [EIGHT_ELEMENTS, LERP, ...WIDEN[type], ...runs, mainText(calls)];
}

function runText(of: GroupProduct, p: number, eight: string): string {
  const { input, inputAt, columns, outputs, store } = of;
  const eights = columns / 8;
  return /* wgsl */ `
fn run_${p}(block: u32, first_row: u32, rows: u32, thread: u32) {
  let lane = thread % 32u;
  let n = block * TEAMS + thread / 32u;
  let line = min(n, ${outputs - 1}u) * ${eights}u;
  var sums: array<f32, ROWS_AT_ONCE>;
  for (var k = lane; k < ${eights}u; k += 32u) {
    let i = line + k;
    let weights = ${eight};
    for (var r = 0u; r < ROWS_AT_ONCE; r++) {
      let x_at = ${inputAt}u + (min(first_row + r, CAPACITY - 1u) * ${eights}u + k) * 2u;
      sums[r] += dot(weights.low, ${input}[x_at]) + dot(weights.high, ${input}[x_at + 1u]);
    }
  }
  var value = 0.0;
  for (var r = 0u; r < ROWS_AT_ONCE; r++) {
    let sum = team_sum(sums[r], thread);
    if (lane == r) { value = sum; }
  }
  let row = first_row + lane;
  if (lane >= ROWS_AT_ONCE || row >= rows || n >= ${outputs}u) { return; }
  let at = row * ${outputs}u + n;
  ${store}
}
`;
}

const mainText = (calls: readonly string[]): string => /* wgsl */ `
@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  let rows = min(u32(counts[COUNT]), ROWS);
  ${calls.join('\n  ')}
}
`;

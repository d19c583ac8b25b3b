/** One thread per element; the function `VALUE` gives the row's element `at`. */
export const ELEMENTWISE = /* wgsl */ `
@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let at = group_of(group, groups) * THREADS + thread;
  if (at < u32(counts[COUNT]) * WIDTH) { y[at] = value_of(at); }
}
`;

/** `a + b` or `a * b`: by a tensor of as many elements, by itself, by a value for each `PART` elements, or by a vector. */
export function binaryText(
  kind: 'add' | 'mul',
  right: 'tensor' | 'same' | 'part' | 'row' | 'partOfRow' | 'one',
): string {
  const operands = {
    tensor: 'b[at]',
    same: 'a[at]',
    part: 'b[at / PART]',
    row: 'b[at % WIDTH]',
    partOfRow: 'b[at % WIDTH / PART]',
    one: 'b[0]',
  };
  return `fn value_of(at: u32) -> f32 { return a[at] ${kind === 'add' ? '+' : '*'} ${operands[right]}; }`;
}

export const SCALE = `fn value_of(at: u32) -> f32 { return FACTOR * x[at]; }`;

export const CLAMP = `fn value_of(at: u32) -> f32 { return clamp(x[at], LOW, HIGH); }`;

export const UNARY = `fn value_of(at: u32) -> f32 { return activation(x[at]); }`;

/** `fn(gate) * up`, or the same tensor as both. */
export const GATED = `fn value_of(at: u32) -> f32 { return gated(gate[at], up[at]); }`;
export const GATED_BY_ITSELF = `fn value_of(at: u32) -> f32 { return gated(gate[at], gate[at]); }`;

/** An expression over the element `at`. */
export function elementValueText(expression: string): string {
  return `fn value_of(at: u32) -> f32 { return ${expression}; }`;
}

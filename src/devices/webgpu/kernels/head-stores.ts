/** Where queries, keys and values go: texts for what a kernel computes of them, and empty ones for what it does not. */
export const HEAD_STORES = {
  query: /* wgsl */ `
fn store_query(r: u32, n: u32, first: f32, second: f32) {
  y[r * Q_WIDTH + n] = first;
  if (UNIT == 2u) { y[r * Q_WIDTH + n + 1u] = second; }
}
`,
  noQuery: `fn store_query(r: u32, n: u32, first: f32, second: f32) {}`,
  key: /* wgsl */ `
fn store_key(r: u32, n: u32, first: f32, second: f32) {
  let cell = cell_of(u32(slots[r >> 2u][r & 3u]), u32(positions[r >> 2u][r & 3u]));
  keys[(cell * K_WIDTH + n) / UNIT] = cache_word(first, second);
}
`,
  noKey: `fn store_key(r: u32, n: u32, first: f32, second: f32) {}`,
  value: /* wgsl */ `
fn store_value(r: u32, n: u32, first: f32, second: f32) {
  let cell = cell_of(u32(slots[r >> 2u][r & 3u]), u32(positions[r >> 2u][r & 3u]));
  values[(cell * V_WIDTH + n) / UNIT] = cache_word(first, second);
}
`,
  noValue: `fn store_value(r: u32, n: u32, first: f32, second: f32) {}`,
} as const;

/** The same of a cache in blocks: stores element `n`, 32 neighbouring threads a block of what is in `block_values`. */
export const HEAD_BLOCK_STORES = {
  key: /* wgsl */ `
fn store_key(r: u32, n: u32, thread: u32) {
  let cell = cell_of(u32(slots[r >> 2u][r & 3u]), u32(positions[r >> 2u][r & 3u]));
  store_keys((cell * K_WIDTH + n) / 32u, thread);
}
`,
  noKey: `fn store_key(r: u32, n: u32, thread: u32) {}`,
  value: /* wgsl */ `
fn store_value(r: u32, n: u32, thread: u32) {
  let cell = cell_of(u32(slots[r >> 2u][r & 3u]), u32(positions[r >> 2u][r & 3u]));
  store_values((cell * V_WIDTH + n) / 32u, thread);
}
`,
  noValue: `fn store_value(r: u32, n: u32, thread: u32) {}`,
} as const;

/** Stores neighbouring elements from `n` of the joined row on. */
export const STORE_HEADS = /* wgsl */ `
fn store_heads(r: u32, n: u32, first: f32, second: f32) {
  if (n < Q_WIDTH) { store_query(r, n, first, second); }
  else if (n < Q_WIDTH + K_WIDTH) { store_key(r, n - Q_WIDTH, first, second); }
  else { store_value(r, n - Q_WIDTH - K_WIDTH, first, second); }
}
`;

/** Rotates element `n` of the joined row with its partner, whose place is `partner_of(n)`. */
export const ROTATE_HEADS = /* wgsl */ `
fn is_second(n: u32) -> bool { return select(n % HEAD >= ROTARY_DIM / 2u, (n & 1u) == 1u, INTERLEAVED); }
fn is_rotated(n: u32) -> bool { return n < Q_WIDTH + K_WIDTH && n % HEAD < ROTARY_DIM; }
fn partner_of(n: u32) -> u32 {
  let half = ROTARY_DIM / 2u;
  return select(select(n + half, n - half, is_second(n)), n ^ 1u, INTERLEAVED);
}
fn rotated(r: u32, n: u32, value: f32, partner: f32) -> f32 {
  let in_head = n % HEAD;
  let pair = select(select(in_head, in_head - ROTARY_DIM / 2u, is_second(n)), in_head >> 1u, INTERLEAVED);
  let cosine = table[r * ROTARY_DIM + 2u * pair];
  let sine = table[r * ROTARY_DIM + 2u * pair + 1u];
  return select(value * cosine - partner * sine, partner * sine + value * cosine, is_second(n));
}
`;

/** Values alone, of which nothing is rotated. */
export const ROTATE_NOTHING = /* wgsl */ `
fn is_rotated(n: u32) -> bool { return false; }
fn partner_of(n: u32) -> u32 { return n; }
fn rotated(r: u32, n: u32, value: f32, partner: f32) -> f32 { return value; }
`;

/**
 * Scores of positions by an indexer's heads: a workgroup takes a row and as many positions as it has threads, a thread one
 * of them. The queries of `HEADS_TOGETHER` heads at a time are in workgroup memory. Requires `PAGED_CACHE` and the units
 * of a cache.
 */
export const INDEX_SCORES = /* wgsl */ `
var<workgroup> queries: array<f32, HEADS_TOGETHER * SIZE>;

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  let row = group.x;
  if (row >= u32(counts[COUNT])) { return; }
  let last = u32(positions[row >> 2u][row & 3u]);
  let slot = u32(slots[row >> 2u][row & 3u]);
  let position = group.y * THREADS + thread;
  if (group.y * THREADS > last) {
    if (position < WIDTH) { y[row * WIDTH + position] = 0.0; }
    return;
  }
  let key = cell_of(slot, min(position, last)) * (SIZE / UNIT);
  var score = 0.0;
  for (var first = 0u; first < HEADS; first += HEADS_TOGETHER) {
    let heads = min(HEADS_TOGETHER, HEADS - first);
    workgroupBarrier();
    for (var i = thread; i < HEADS_TOGETHER * SIZE; i += THREADS) {
      queries[i] = select(0.0, q[(row * HEADS + first) * SIZE + min(i, heads * SIZE - 1u)], i < heads * SIZE);
    }
    workgroupBarrier();
    var products = array<f32, HEADS_TOGETHER>();
    for (var word = 0u; word < SIZE / UNIT; word++) {
      let elements = key_unit(key + word);
      for (var h = 0u; h < HEADS_TOGETHER; h++) {
        products[h] = plus_product(products[h], h * SIZE + word * UNIT, elements);
      }
    }
    for (var h = 0u; h < heads; h++) {
      score = fma(weights[row * HEADS + first + h], max(products[h], 0.0), score);
    }
  }
  if (position < WIDTH) { y[row * WIDTH + position] = select(0.0, score, position <= last); }
}
`;

/**
 * Chooses the positions with the largest scores, a workgroup a row: the least score that is chosen by its digits of eight
 * bits from the highest on, of whose numbers a histogram is taken each; then every thread writes those among its
 * neighbouring positions, in their order. Requires `PAGED_CACHE`.
 */
export const CHOOSE_POSITIONS = /* wgsl */ `
const DIGITS = 256u;
var<workgroup> histogram: array<atomic<u32>, DIGITS>;
// Positions of threads before each one's: above the least score that is chosen, and at it.
var<workgroup> aboves: array<u32, THREADS>;
var<workgroup> equals: array<u32, THREADS>;
var<workgroup> digit: u32;
var<workgroup> wanted: u32;

// Numbers in their order as unsigned words; both zeros are one, and NaN is less than any number.
fn ordered(value: f32) -> u32 {
  let stored = bitcast<u32>(value);
  let bits = select(stored, 0u, stored == 0x80000000u);
  if ((bits & 0x7fffffffu) > 0x7f800000u) { return 0u; }
  return select(bits | 0x80000000u, ~bits, (bits & 0x80000000u) != 0u);
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  let row = group.x;
  if (row >= u32(counts[COUNT])) { return; }
  let slot = u32(slots[row >> 2u][row & 3u]);
  let visible = min(u32(positions[row >> 2u][row & 3u]) + 1u, WIDTH);
  if (thread == 0u) {
    places[row] = i32(row);
    limits[row] = i32(min(visible, MOST)) - 1;
    wanted = MOST;
  }
  for (var i = visible + thread; i < MOST; i += THREADS) { cells[row * MOST + i] = 0; }
  if (visible <= MOST) {
    for (var p = thread; p < visible; p += THREADS) { cells[row * MOST + p] = i32(cell_of(slot, p)); }
    return;
  }
  var least = 0u;
  for (var pass_index = 0u; pass_index < 4u; pass_index++) {
    let shift = 24u - 8u * pass_index;
    for (var d = thread; d < DIGITS; d += THREADS) { atomicStore(&histogram[d], 0u); }
    workgroupBarrier();
    // Only those that begin with the digits found so far.
    let mask = select(0xffffffffu << ((shift + 8u) & 31u), 0u, pass_index == 0u);
    for (var p = thread; p < visible; p += THREADS) {
      let word = ordered(scores[row * WIDTH + p]);
      if ((word & mask) == least) { atomicAdd(&histogram[(word >> shift) & 255u], 1u); }
    }
    workgroupBarrier();
    if (thread == 0u) {
      var d = DIGITS - 1u;
      var left = wanted;
      var found = atomicLoad(&histogram[d]);
      while (found < left) {
        left -= found;
        d--;
        found = atomicLoad(&histogram[d]);
      }
      digit = d;
      wanted = left;
    }
    workgroupBarrier();
    least |= digit << shift;
    workgroupBarrier();
  }
  let share = (visible + THREADS - 1u) / THREADS;
  let begin = min(thread * share, visible);
  let end = min(begin + share, visible);
  var above = 0u;
  var equal = 0u;
  for (var p = begin; p < end; p++) {
    let word = ordered(scores[row * WIDTH + p]);
    above += select(0u, 1u, word > least);
    equal += select(0u, 1u, word == least);
  }
  aboves[thread] = above;
  equals[thread] = equal;
  workgroupBarrier();
  for (var step = 1u; step < THREADS; step *= 2u) {
    let source = max(thread, step) - step;
    let before = select(vec2<u32>(0u), vec2<u32>(aboves[source], equals[source]), thread >= step);
    workgroupBarrier();
    aboves[thread] += before.x;
    equals[thread] += before.y;
    workgroupBarrier();
  }
  above = aboves[thread] - above;
  equal = equals[thread] - equal;
  for (var p = begin; p < end; p++) {
    let word = ordered(scores[row * WIDTH + p]);
    let at = above + min(equal, wanted);
    if (word > least || (word == least && equal < wanted)) { cells[row * MOST + at] = i32(cell_of(slot, p)); }
    above += select(0u, 1u, word > least);
    equal += select(0u, 1u, word == least);
  }
}
`;

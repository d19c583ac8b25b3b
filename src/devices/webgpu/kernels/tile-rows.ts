/** The batch's rows, one after another. */
const BATCH_ROWS = /* wgsl */ `
fn find_rows(place: u32, thread: u32) -> vec2<u32> { return vec2<u32>(place * TILE_ROWS, u32(counts[COUNT])); }
fn activation_row(r: u32) -> u32 { return r; }
fn output_row(r: u32) -> u32 { return r; }
fn weight_line(line: u32) -> u32 { return line; }
`;

/** Choices of one expert, as `GROUP_CHOICES` brings them together. */
const EXPERT_ROWS = /* wgsl */ `
var<workgroup> found_tile: vec4<u32>;
var<workgroup> tile_choices: array<u32, TILE_ROWS>;
var<private> own_tile: vec4<u32>;
fn find_rows(place: u32, thread: u32) -> vec2<u32> {
  if (thread == 0u) { found_tile = tiles[place]; }
  let found = workgroupUniformLoad(&found_tile);
  own_tile = found;
  if (thread < TILE_ROWS && found.x + thread < found.y) { tile_choices[thread] = order[found.x + thread]; }
  workgroupBarrier();
  return found.xy;
}
fn activation_row(r: u32) -> u32 { return tile_choices[r - own_tile.x] / CHOICES_PER_ROW; }
fn output_row(r: u32) -> u32 { return tile_choices[r - own_tile.x]; }
fn weight_line(line: u32) -> u32 { return (line / PART_ROWS * EXPERTS + own_tile.z) * PART_ROWS + line % PART_ROWS; }
`;

/** The rows of one head: each has as many parts as there are heads, side by side. */
const HEAD_ROWS = /* wgsl */ `
var<private> own_head: u32;
fn find_rows(place: u32, thread: u32) -> vec2<u32> {
  own_head = place / HEAD_TILES;
  return vec2<u32>(place % HEAD_TILES * TILE_ROWS, u32(counts[COUNT]));
}
fn activation_row(r: u32) -> u32 { return r * HEADS + own_head; }
fn output_row(r: u32) -> u32 { return r * HEADS + own_head; }
fn weight_line(line: u32) -> u32 { return own_head * PART_ROWS + line; }
`;

/** What the rows of a product's tiles are. */
export type TileRowsKind = 'batch' | 'experts' | 'heads';

/**
 * Which rows a tile of a product has: `find_rows(place, thread)` gives the first and the one past the last, by the tile's place down
 * the grid, called by all threads at once; `activation_row` and `output_row` say where they come from and go to, `weight_line` which
 * row of the weights an output of theirs is.
 */
export function tileRowsText(of: TileRowsKind): string {
  return { batch: BATCH_ROWS, experts: EXPERT_ROWS, heads: HEAD_ROWS }[of];
}

/**
 * Groups the choices of all rows by expert (as vLLM's `moe_align_block_size`): `order` lists them expert after expert, `tiles` has the first place, the one after
 * the last, and the expert of every `TILE_ROWS` of them; the tiles that are not needed are empty. One workgroup does it.
 */
export const GROUP_CHOICES = /* wgsl */ `
var<workgroup> found: array<atomic<u32>, EXPERTS>;
var<workgroup> starts: array<u32, EXPERTS>;
fn expert_of(choice: u32) -> u32 { return min(u32(experts[choice]), EXPERTS - 1u); }
fn tiles_for(count: u32) -> u32 { return (count + TILE_ROWS - 1u) / TILE_ROWS; }

@compute @workgroup_size(THREADS)
fn main(@builtin(local_invocation_index) thread: u32) {
  let choices = u32(counts[COUNT]) * TOP_K;
  for (var e = thread; e < EXPERTS; e += THREADS) { atomicStore(&found[e], 0u); }
  workgroupBarrier();
  for (var i = thread; i < choices; i += THREADS) { atomicAdd(&found[expert_of(i)], 1u); }
  workgroupBarrier();
  for (var e = thread; e < EXPERTS; e += THREADS) {
    var first = 0u;
    var place = 0u;
    for (var other = 0u; other < e; other++) {
      let count = atomicLoad(&found[other]);
      first += count;
      place += tiles_for(count);
    }
    let end = first + atomicLoad(&found[e]);
    starts[e] = first;
    for (var at = first; at < end; at += TILE_ROWS) {
      tiles[place] = vec4<u32>(at, min(at + TILE_ROWS, end), e, 0u);
      place++;
    }
    if (e == EXPERTS - 1u) { for (; place < TILES; place++) { tiles[place] = vec4<u32>(); } }
  }
  workgroupBarrier();
  for (var e = thread; e < EXPERTS; e += THREADS) { atomicStore(&found[e], starts[e]); }
  workgroupBarrier();
  for (var i = thread; i < choices; i += THREADS) { order[atomicAdd(&found[expert_of(i)], 1u)] = i; }
}
`;

/** Chunks of up to `CHUNK` rows of a sequence that stand together, for recurrences. */
export const CHUNKS = /* wgsl */ `
fn slot_of(row: u32) -> u32 { return u32(slots[row >> 2u][row & 3u]); }
fn begins(row: u32) -> bool { return positions[row >> 2u][row & 3u] == 0; }

// The slot's next rows from a row on that are a chunk, the first and how many: none of them begins a sequence but the first.
fn next_chunk(from_row: u32, rows: u32, slot: u32) -> vec2<u32> {
  var first = from_row;
  while (first < rows && slot_of(first) != slot) { first++; }
  var count = 0u;
  while (count < CHUNK && first + count < rows) {
    if (slot_of(first + count) != slot || (count > 0u && begins(first + count))) { break; }
    count++;
  }
  return vec2<u32>(first, count);
}
`;

/** Chunks of up to `CHUNK` rows of a sequence that stand together, for recurrences. Requires `SLOT_ROWS`. */
export const CHUNKS = /* wgsl */ `
// The slot's next rows from a row on that are a chunk, the first and how many: none of them begins a sequence but the first.
fn next_chunk(from_row: u32, end: u32, slot: u32) -> vec2<u32> {
  var first = from_row;
  while (first < end && slot_of(first) != slot) { first++; }
  var count = 0u;
  while (count < CHUNK && first + count < end) {
    if (slot_of(first + count) != slot || (count > 0u && begins(first + count))) { break; }
    count++;
  }
  return vec2<u32>(first, count);
}
`;

/** The rows of a slot lie from its first one to before the end, maybe with others' between them; of a slot without rows these are alike. */
export const SLOT_ROWS = /* wgsl */ `
fn slot_of(row: u32) -> u32 { return u32(slots[row >> 2u][row & 3u]); }
fn begins(row: u32) -> bool { return positions[row >> 2u][row & 3u] == 0; }

fn rows_of_slot(slot: u32) -> vec2<u32> {
  let pair = vec4<u32>(slot_rows[slot >> 1u]);
  return select(pair.xy, pair.zw, (slot & 1u) == 1u);
}
`;

/**
 * The rows of a workgroup's slot: it takes a slot, or, where a step has fewer rows than there are slots (`BY_ROW`), the slot of a
 * row if that is the slot's first one.
 */
export const ROWS_OF_WORKGROUP = /* wgsl */ `${SLOT_ROWS}
struct SlotRows { slot: u32, first: u32, end: u32 }
fn rows_of_workgroup(place: u32) -> SlotRows {
  if (BY_ROW && place >= u32(counts[0])) { return SlotRows(); }
  let slot = select(place, slot_of(place), BY_ROW);
  let rows = rows_of_slot(slot);
  return SlotRows(slot, rows.x, select(rows.y, rows.x, BY_ROW && rows.x != place));
}
`;

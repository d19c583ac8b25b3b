/** Stores the first `count` of four outputs. */
@inline
export function storeOutputs(y: usize, sum: v128, count: u32): void {
  if (count >= 4) {
    v128.store(y, sum);
    return;
  }
  v128.store32_lane(y, sum, 0);
  if (count > 1) v128.store32_lane(y + 4, sum, 1);
  if (count > 2) v128.store32_lane(y + 8, sum, 2);
}

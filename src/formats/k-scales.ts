/** The 6-bit scale of group `group` (0 to 7) in the 12 packed bytes that Q4_K and Q5_K share. */
export function scaleK(bytes: DataView, at: number, group: number): number {
  if (group < 4) return bytes.getUint8(at + group) & 63;
  return (bytes.getUint8(at + group + 4) & 15) | ((bytes.getUint8(at + group - 4) >> 6) << 4);
}

/** The 6-bit min of group `group` in the same bytes. */
export function minK(bytes: DataView, at: number, group: number): number {
  if (group < 4) return bytes.getUint8(at + group + 4) & 63;
  return (bytes.getUint8(at + group + 4) >> 4) | ((bytes.getUint8(at + group) >> 6) << 4);
}

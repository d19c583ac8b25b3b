import { EACH_32, type EitherField, field } from './block-layout.ts';

/** Steps of one byte per group, within the first four groups or the last four. */
const FOUR_GROUPS = EACH_32.slice(0, 7);

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

/** The same scales as fields, for packed bytes that start at byte `at`. */
export function scaleFieldsK(at: number): EitherField {
  return {
    bit: 7,
    clear: [field(at, 6, FOUR_GROUPS)],
    set: [field(at + 8, 4, FOUR_GROUPS), field(at, 2, FOUR_GROUPS, 6)],
  };
}

/** The mins as fields. */
export function minFieldsK(at: number): EitherField {
  return {
    bit: 7,
    clear: [field(at + 4, 6, FOUR_GROUPS)],
    set: [field(at + 8, 4, FOUR_GROUPS, 4), field(at + 4, 2, FOUR_GROUPS, 6)],
  };
}

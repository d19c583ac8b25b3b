/**
 * A block of one row of any format, taken apart: what the formats' files write and what `decode` and `pack` read. It lies
 * in scratch memory:
 *
 * | at | holds |
 * |---|---|
 * | 0 | a code a column, u8: the number q that the file's bits spell |
 * | 256 | sub-scales, i8, one for each 16 columns (formats with blocks of 256 columns) |
 * | 272 | sub-offsets, i8, one for each 16 columns |
 * | 288 | `scale`, f32 |
 * | 292 | `offset`, f32 |
 *
 * A weight is `scale * sub-scale * value(q) + offset * sub-offset`; formats of 32 columns have no sub-scales (they count as
 * 1). `value` is q itself, q less a constant, or a table's entry.
 */
export const SUB_SCALES: usize = 256;
export const SUB_OFFSETS: usize = 272;
export const SCALE: usize = 288;
export const OFFSET: usize = 292;
/** Bytes from one canonical block to the next. */
export const CANONICAL_BYTES: usize = 304;

@inline
export function setScale(t: usize, scale: f32): void {
  store<f32>(t + SCALE, scale);
}

@inline
export function setOffset(t: usize, offset: f32): void {
  store<f32>(t + OFFSET, offset);
}

/** The sub-scale of the 32 columns of group `g`. */
@inline
export function setGroupScale(t: usize, g: u32, scale: i32): void {
  store<u16>(t + SUB_SCALES + 2 * g, <u16>((scale & 255) * 0x101));
}

/** The sub-offset of the 32 columns of group `g`. */
@inline
export function setGroupOffset(t: usize, g: u32, offset: i32): void {
  store<u16>(t + SUB_OFFSETS + 2 * g, <u16>((offset & 255) * 0x101));
}

/** The low nibbles of 16 bytes at `q` as the codes of 16 columns, the high nibbles as those `apart` columns further on. */
@inline
export function splitNibbles(q: usize, codes: usize, apart: usize): void {
  const bytes = v128.load(q);
  v128.store(codes, v128.and(bytes, i8x16.splat(15)));
  v128.store(codes + apart, v128.and(i16x8.shr_u(bytes, 4), i8x16.splat(15)));
}

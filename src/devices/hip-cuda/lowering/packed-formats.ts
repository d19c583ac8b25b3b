import { alignUp } from '../../../base/bytes.ts';
import { invariant } from '../../../base/errors.ts';
import { packedGroups, quantPlanes, SCALE_BYTES } from '../../../device/index.ts';
import type { TensorFormat } from '../../../formats/index.ts';
import { formatFile } from '../texts/format-text.ts';

/** True for formats that are multiplied as integers. */
export function isPacked(format: TensorFormat): boolean {
  return packedGroups(format) !== undefined;
}

/** Lines (rows of a matrix) and columns of a tile, in whose order a packed matrix stands: see `packed/planes.h`. */
export const TILE_LINES = 8;
const TILE_COLUMNS = 128;

/**
 * Bytes of a packed matrix: whole tiles, of which each plane of quants and scales is rounded up to 16 bytes. Kernels number its groups in 32
 * bits: 1.4e11 weights at most.
 */
export function packedBytes(format: TensorFormat, rows: number, columns: number): number {
  const packed = packedGroups(format);
  invariant(packed, `${format.name} is a packed format`);
  // So rows of blocks of eight groups have pairs of tiles.
  invariant(columns % format.blockElements === 0, 'a row has whole blocks');
  const [own, shared] = SCALE_BYTES[packed.scales];
  const groups = (alignUp(rows, TILE_LINES) * alignUp(columns, TILE_COLUMNS)) / 32;
  const planes = [...quantPlanes(packed.quants), shared / 8, own / packed.span];
  return planes.reduce((sum, bytes) => sum + alignUp(bytes * groups, 16), 0);
}

export function bitsPerWeight({ blockBytes, blockElements }: TensorFormat): number {
  return (8 * blockBytes) / blockElements;
}

/** Whether codes of a packed format are looked up: in a codebook, or in a table of levels. */
export function looksUpLevels(format: TensorFormat): boolean {
  const packed = packedGroups(format);
  if (!packed) return false;
  const { quants, signed } = packed;
  // Of eight bits, a code is its level.
  return quants.kind === 'grid' || (signed && quants.bits < 8);
}

/** The factor on weights of a packed format that are decoded to f16. */
export function weightScale(format: TensorFormat): number {
  const packed = packedGroups(format);
  invariant(packed, `${format.name} is a packed format`);
  return packed.weightScale;
}

/** The header of a packed format. */
export function packedFile(format: TensorFormat): string {
  return `"${formatFile('packed', format)}"`;
}

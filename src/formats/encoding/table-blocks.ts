import { floatToHalf } from '../../base/half.ts';
import {
  type BlockSource,
  clear,
  extremeOf,
  groupOf,
  loadBlock,
  meanSquareOf,
  nearestWithin,
  squareOf,
} from './block-source.ts';
import type { FieldPacker } from './field-packer.ts';
import { fitTable, inverseOf, levelIndex } from './fit-table.ts';

const { fround } = Math;

const GROUP = 32;

/** A block of 32 elements `d * level[q]`, or of 256 whose groups of 32 have scales of six bits. */
export interface TableBlock {
  readonly blockBytes: number;
  readonly elements: 32 | 256;
  /** Ascending; the first one is of the largest magnitude. */
  readonly levels: Int8Array;
  readonly codes: FieldPacker;
  /** Where the scales of groups are, plus `SCALE_LESS`. */
  readonly scales?: FieldPacker;
}

const SCALE_LESS = 32;

/** Encodes a block whose levels are a table. The f16 scale is in its first bytes. */
export function encodeTableBlock(source: BlockSource, bytes: DataView, at: number, block: TableBlock): void {
  const variance = 2 * meanSquareOf(source.values, source.from, block.elements);
  const fits = fitGroups(source, variance, block);
  clear(bytes, at, block.blockBytes);
  const scale = block.scales ? writeScales(fits, block.scales, bytes, at) : only(fits, bytes, at);
  const codes = new Uint8Array(block.elements);
  for (let i = 0; i < codes.length; i++) {
    const inverse = inverseOf(scale(i >> 5));
    codes[i] = levelIndex(block.levels, fround(inverse * (source.values[source.from + i] as number)));
  }
  block.codes.write(bytes, at, codes);
}

/** The scales of all groups. */
function fitGroups(source: BlockSource, variance: number, { elements, levels }: TableBlock): Float32Array {
  if (elements === GROUP) {
    const group = groupOf(source, 0, new Float32Array(GROUP), variance, squareOf);
    return Float32Array.of(fitTable(group, levels));
  }
  const { weights, scales } = loadBlock(source);
  groupOf(source, 0, weights, variance, squareOf);
  source.fits.table(levels);
  return scales.subarray(0, elements / GROUP);
}

/** The scale of the only group. */
function only([fit = 0]: Float32Array, bytes: DataView, at: number): () => number {
  bytes.setUint16(at, floatToHalf(fit), true);
  return () => fit;
}

/** The scales of groups: the largest becomes -32 units. */
function writeScales(fits: Float32Array, to: FieldPacker, bytes: DataView, at: number) {
  const extreme = extremeOf(fits, 0, fits.length);
  const unit = fround(-extreme / SCALE_LESS);
  const inverse = inverseOf(unit);
  const numbers = Int8Array.from(fits, (fit) =>
    nearestWithin(fround(inverse * fit), -SCALE_LESS, SCALE_LESS - 1),
  );
  bytes.setUint16(at, floatToHalf(unit), true);
  to.write(
    bytes,
    at,
    numbers.map((number) => number + SCALE_LESS),
  );
  return (group: number) => fround(unit * (numbers[group] as number));
}

import { ALL_FORMATS, type TensorFormat } from '../../formats/index.ts';
import { type Codes, codesOf, type Words, wordsOf } from './format-classes.ts';

/** How the CPU device stores the weights of each file format, and which kernels pack, decode and multiply them. */
export interface WeightLayout {
  /** The name of the packed layout; weights with the same format and layout can be shared. */
  readonly name: string;
  /** Names of kernel exports; see `kernel-exports.ts`. */
  readonly pack: string;
  readonly decode: string;
  readonly matVec: string;
  readonly matMat: string;
  /** `records` are quantized activations, `floats` plain f32 rows. */
  readonly activations: 'records' | 'floats';
  /** Packed rows start at multiples of this. */
  readonly rowAlignment: number;
  /** Bytes of a packed weight. `columns` is a multiple of the format's block. */
  packedBytes(rows: number, columns: number): number;
}

/** Rows interleaved in a packed weight. */
export const QUAD_ROWS = 4;
/** Bytes before the first quad: lookup tables and constants that the kernels read. */
export const HEADER_BYTES = 64;
/** Bytes before every eight groups in layouts with sub-scales. */
const SUPER_BYTES = 32;

/** Bytes of the codes of four rows and 32 columns; the kernels' `layout.ts` illustrates them. */
const CODE_BYTES: Readonly<Record<Codes, number>> = {
  small: 64,
  lifted: 64,
  large: 64,
  wide: 64,
  medium: 128,
  signed: 128,
};

/** Bytes of the scale words of four rows and 32 columns. */
const WORD_BYTES: Readonly<Record<Words, number>> = {
  half: 8,
  half_offset: 16,
  float: 16,
  float16: 32,
  sub: 8,
  sub16: 8,
  sub16_offset: 16,
};

function quadBytesOf(codes: Codes, words: Words, columns: number): number {
  const groups = columns / 32;
  const bytes = groups * (CODE_BYTES[codes] + WORD_BYTES[words]);
  return words.startsWith('sub') ? bytes + (groups / 8) * SUPER_BYTES : bytes;
}

function packedWith(quadBytes: (columns: number) => number) {
  return (rows: number, columns: number) => HEADER_BYTES + Math.ceil(rows / QUAD_ROWS) * quadBytes(columns);
}

/** The layout of a format that describes its blocks. */
function quantized(format: TensorFormat): WeightLayout | undefined {
  if (!format.layout) return undefined;
  const codes = codesOf(format, format.layout);
  const words = wordsOf(format, format.layout);
  const kernel = `${codes}_${words}`;
  const name = format.name.toLowerCase();
  return {
    name: kernel,
    pack: `pack_${name}`,
    decode: `decode_${name}`,
    matVec: `matvec_${kernel}`,
    matMat: `matmat_${kernel}`,
    activations: 'records',
    rowAlignment: QUAD_ROWS,
    packedBytes: packedWith((columns) => quadBytesOf(codes, words, columns)),
  };
}

function floats(type: 'f32' | 'f16' | 'bf16'): WeightLayout {
  const leadBytes = type === 'f16' ? 16 : 0;
  const quadBytes = (columns: number) =>
    type === 'f32' ? 16 * columns : leadBytes + 16 * Math.ceil(columns / 2);
  return {
    name: type,
    pack: `pack_${type}`,
    decode: `decode_${type}`,
    matVec: `matvec_${type}`,
    matMat: `matmat_${type}`,
    activations: 'floats',
    rowAlignment: QUAD_ROWS,
    packedBytes: packedWith(quadBytes),
  };
}

/** The layout of each format, by ggml name. */
export const WEIGHT_LAYOUTS: Readonly<Record<string, WeightLayout>> = {
  F32: floats('f32'),
  F16: floats('f16'),
  BF16: floats('bf16'),
  ...Object.fromEntries(
    ALL_FORMATS.flatMap((format) => {
      const layout = quantized(format);
      return layout ? [[format.name, layout]] : [];
    }),
  ),
};

/** Rows of activations interleaved in a tile for `matMat`, as many as AMX's tiles hold; a single row uses `matVec`. */
export const TILE_ROWS = 16;
/** Bytes of a record of 32 quantized activations. */
export const RECORD_BYTES = 48;

/** Bytes of `rows` quantized rows of activations; more than one row are padded to whole tiles. */
export function recordBytes(rows: number, columns: number): number {
  const padded = rows === 1 ? 1 : Math.ceil(rows / TILE_ROWS) * TILE_ROWS;
  return padded * Math.ceil(columns / 32) * RECORD_BYTES;
}

/** Bytes of scratch per thread for packing, decoding and multiplying `rows` rows of activations. */
export function matmulScratchBytes(rows: number, columns: number): number {
  return Math.max(18432 + 32 * Math.ceil(rows / TILE_ROWS) * TILE_ROWS, 128 + 64 * Math.ceil(columns / 32));
}

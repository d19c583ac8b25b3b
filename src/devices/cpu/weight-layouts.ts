/** How the CPU device keeps the weights of each file format, and which kernels pack, decode and multiply them. */
export interface WeightLayout {
  /** Names the layout of the packed bytes; weights of one format and layout may be shared. */
  readonly name: string;
  /** Exports of the kernels by name: see `kernel-exports.ts`. */
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

/** Rows that stand side by side in a packed weight. */
export const QUAD_ROWS = 4;
/** Bytes before the first quad: lookup tables and constants that the kernels read. */
const HEADER_BYTES = 64;
/** Bytes before each eight groups of a layout with sub-scales. */
const SUPER_BYTES = 32;

type Codes = 'small' | 'lifted' | 'large' | 'wide' | 'medium' | 'signed';
type Words = 'half' | 'half_offset' | 'float' | 'float16' | 'sub' | 'sub16' | 'sub16_offset';

/** Bytes of the codes of four rows and 32 columns; the kernels' `layout.ts` draws them. */
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

function quantized(format: string, codes: Codes, words: Words): WeightLayout {
  const kernel = `${codes}_${words}`;
  return {
    name: kernel,
    pack: `pack_${format}`,
    decode: `decode_${format}`,
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

/** The layout of each format by its ggml name. */
export const WEIGHT_LAYOUTS: Readonly<Record<string, WeightLayout>> = {
  F32: floats('f32'),
  F16: floats('f16'),
  BF16: floats('bf16'),
  Q4_0: quantized('q4_0', 'lifted', 'half'),
  Q4_1: quantized('q4_1', 'small', 'half_offset'),
  Q5_0: quantized('q5_0', 'medium', 'half'),
  Q5_1: quantized('q5_1', 'medium', 'half_offset'),
  Q8_0: quantized('q8_0', 'signed', 'half'),
  Q2_K: quantized('q2_k', 'small', 'sub16_offset'),
  Q3_K: quantized('q3_k', 'small', 'sub16'),
  Q4_K: quantized('q4_k', 'small', 'sub'),
  Q5_K: quantized('q5_k', 'medium', 'sub'),
  Q6_K: quantized('q6_k', 'medium', 'sub16'),
  IQ1_S: quantized('iq1_s', 'large', 'sub'),
  IQ1_M: quantized('iq1_m', 'large', 'sub16'),
  IQ2_XXS: quantized('iq2_xxs', 'large', 'sub'),
  IQ2_XS: quantized('iq2_xs', 'large', 'sub16'),
  IQ2_S: quantized('iq2_s', 'large', 'sub16'),
  IQ3_XXS: quantized('iq3_xxs', 'large', 'sub'),
  IQ3_S: quantized('iq3_s', 'small', 'sub'),
  IQ4_NL: quantized('iq4_nl', 'wide', 'half'),
  IQ4_XS: quantized('iq4_xs', 'wide', 'sub'),
  TQ1_0: quantized('tq1_0', 'small', 'sub'),
  TQ2_0: quantized('tq2_0', 'small', 'sub'),
  MXFP4: quantized('mxfp4', 'large', 'float'),
  NVFP4: quantized('nvfp4', 'large', 'float16'),
};

/** Rows of activations that stand interleaved in a tile for `matMat`; one row alone goes to `matVec`. */
export const TILE_ROWS = 4;
/** Bytes of the record of 32 quantized activations. */
export const RECORD_BYTES = 48;

/** Bytes of `rows` quantized rows of activations; more than one row are padded to whole tiles. */
export function recordBytes(rows: number, columns: number): number {
  const padded = rows === 1 ? 1 : Math.ceil(rows / TILE_ROWS) * TILE_ROWS;
  return padded * Math.ceil(columns / 32) * RECORD_BYTES;
}

/** Bytes of scratch that packing, decoding and multiplying `rows` rows of activations want, for each thread. */
export function matmulScratchBytes(rows: number, columns: number): number {
  return Math.max(18432 + 32 * Math.ceil(rows / TILE_ROWS) * TILE_ROWS, 128 + 64 * Math.ceil(columns / 32));
}

import { ALL_FORMATS, type BlockLayout, type TensorFormat } from '../../formats/index.ts';
import { classesOf, type Codes, type LayoutClasses, nativeClassesOf, type Words } from './format-classes.ts';

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
/** Bytes of the codes of four rows and 32 columns; the kernels' `layout.ts` illustrates them. */
const CODE_BYTES: Readonly<Record<Codes, number>> = {
  small: 64,
  lifted: 64,
  large: 64,
  wide: 64,
  medium: 128,
  signed: 128,
  five: 80,
  six: 96,
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
  half_sub: 8,
  half_sub16: 8,
  half_sub16_offset: 16,
};

/** Bytes before every eight groups in layouts with sub-scales. */
const SUPER_BYTES: Readonly<Partial<Record<Words, number>>> = {
  sub: 32,
  sub16: 32,
  sub16_offset: 32,
  half_sub: 16,
  half_sub16: 8,
  half_sub16_offset: 16,
};

function quadBytesOf({ codes, words }: LayoutClasses, columns: number): number {
  const groups = columns / 32;
  return groups * (CODE_BYTES[codes] + WORD_BYTES[words]) + (groups / 8) * (SUPER_BYTES[words] ?? 0);
}

function packedWith(quadBytes: (columns: number) => number) {
  return (rows: number, columns: number) => HEADER_BYTES + Math.ceil(rows / QUAD_ROWS) * quadBytes(columns);
}

/** A layout of a format that describes its blocks. */
function quantized(format: TensorFormat, classes: LayoutClasses): WeightLayout {
  const kernel = `${classes.codes}_${classes.words}`;
  const name = format.name.toLowerCase();
  return {
    name: kernel,
    pack: `pack_${kernel}_${name}`,
    decode: `decode_${name}`,
    matVec: `matvec_${kernel}`,
    matMat: `matmat_${kernel}`,
    activations: 'records',
    rowAlignment: QUAD_ROWS,
    packedBytes: packedWith((columns) => quadBytesOf(classes, columns)),
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

/** A layout of each format, by ggml name. */
export type LayoutTable = Readonly<Record<string, WeightLayout>>;

function layoutTable(classes: (format: TensorFormat, layout: BlockLayout) => LayoutClasses): LayoutTable {
  return {
    F32: floats('f32'),
    F16: floats('f16'),
    BF16: floats('bf16'),
    ...Object.fromEntries(
      ALL_FORMATS.flatMap((format) => {
        const { layout, name } = format;
        return layout ? [[name, quantized(format, classes(format, layout))]] : [];
      }),
    ),
  };
}

/** The layouts that all kernels read. */
export const WEIGHT_LAYOUTS: LayoutTable = layoutTable(classesOf);

/** Those that native kernels read, which are smaller for formats of five and six bits, and for those with scales within scales. */
export const NATIVE_LAYOUTS: LayoutTable = layoutTable(nativeClassesOf);

/** The layouts of a device's matrices, by whether it has native kernels when it is opened: some may be packed before others come. */
export function layoutsOf({ native }: { readonly native?: unknown }): LayoutTable {
  return native === undefined ? WEIGHT_LAYOUTS : NATIVE_LAYOUTS;
}

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

/**
 * The kernels as TypeScript sees them. Addresses are byte offsets into the one shared memory that the instance was given,
 * counts are elements. No kernel allocates, keeps state or checks its arguments; none reads or writes below `heapBase()`.
 * Addresses of f32 and i32 data are multiples of 4. Results depend neither on how rows are split among calls nor on the build
 * (relaxed or baseline SIMD), nor on how many rows of activations a product has.
 */
export interface KernelExports {
  /** The first address a host may use; the kernels' tables lie below. */
  heapBase(): number;
  /** `out = f32(x)`, `n` halves. */
  widen(x: number, out: number, n: number): void;
  /** `out = f16(x)`, `n` f32, rounded to nearest even. */
  narrow(x: number, out: number, n: number): void;
  /** Quantizes one row into lane `lane` of a tile of `lanes` rows; `scratch` takes 128 bytes. */
  quantize(x: number, out: number, columns: number, lanes: number, lane: number, scratch: number): void;
}

/** `decode_*`: `blocks` blocks of a format (elements, for BF16) at `src` to f32 at `out`; `scratch` takes 512 bytes. */
export type DecodeKernel = (src: number, out: number, blocks: number, scratch: number) => void;

/**
 * `pack_*`: `rows` rows of file blocks at `src` into a packed weight, from its row `firstRow` (a multiple of four) on. Only
 * the weight's last chunk may hold a number of rows that is not a multiple of four. `scratch` takes 512 bytes.
 */
export type PackKernel = (
  src: number,
  packed: number,
  firstRow: number,
  rows: number,
  columns: number,
  scratch: number,
) => void;

/**
 * `matvec_*`: `y[r] = weight[r] · x` for the weight's rows `begin` (a multiple of four) to `end`. `x` is one lane of records
 * among `lanes` (or an f32 row, for float weights).
 */
export type MatVecKernel = (
  packed: number,
  x: number,
  y: number,
  begin: number,
  end: number,
  columns: number,
  lanes: number,
  scratch: number,
) => void;

/**
 * `matmat_*`: `y[t * stride + r] = weight[r] · x[t]` for the weight's rows `begin` (a multiple of four) to `end` and `tokens`
 * rows of activations: records in tiles of four (or f32 rows of `columns`, for float weights).
 */
export type MatMatKernel = (
  packed: number,
  x: number,
  y: number,
  begin: number,
  end: number,
  columns: number,
  tokens: number,
  stride: number,
  scratch: number,
) => void;

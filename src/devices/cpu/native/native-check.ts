import type { WasmExports, WasmMemory } from '../../../base/web-types.ts';
import { alignUp } from '../../../base/bytes.ts';
import { ALL_FORMATS, type TensorFormat } from '../../../formats/index.ts';
import { GATED_FUNCTIONS, SCORE_NAMES } from '../../../ops/index.ts';
import {
  ATTENTION_PARAMETER_BYTES,
  attentionScratchBytes,
  type KernelExports,
  type MatMatKernel,
  type MatVecKernel,
  type PackKernel,
  type ScoreNumbers,
  writeAttentionParameters,
} from '../kernel-exports.ts';
import {
  matmulScratchBytes,
  recordBytes,
  NATIVE_LAYOUTS,
  TILE_ROWS,
  WEIGHT_LAYOUTS,
  type WeightLayout,
} from '../weight-layouts.ts';
import type { NativeExport, NativeKernels } from './native-kernels.ts';

/**
 * Neither a multiple of the rows that any variant computes together, nor of the rows of activations, nor of the columns; and more rows of
 * activations than any variant computes together.
 */
const ROWS = 21;
const COLUMNS = 768;
const TOKENS = 37;

const PAGE = 65536;

/** Numbers in [0, 1), the same at every opening. */
function numbers(): () => number {
  let state = 1;
  return () => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return (state >>> 8) / 2 ** 24;
  };
}

/** A format for each layout of weights. */
interface Representative {
  readonly format: TensorFormat;
  readonly layout: WeightLayout;
  /** The format's layout for WebAssembly. */
  readonly expected: WeightLayout;
}

function representatives(): readonly Representative[] {
  const found = new Map<string, Representative>();
  for (const format of ALL_FORMATS) {
    const expected = WEIGHT_LAYOUTS[format.name];
    for (const layout of [expected, NATIVE_LAYOUTS[format.name]]) {
      if (expected && layout && !found.has(layout.name)) found.set(layout.name, { format, layout, expected });
    }
  }
  return [...found.values()];
}

/**
 * The first native kernel whose results are not WebAssembly's, bit for bit; undefined if all of them are right. A compiler or a
 * processor may be wrong, and a library may be of another version: what runs is tested, not assumed.
 */
export function wrongNativeKernel(
  exports: WasmExports,
  memory: WasmMemory,
  native: NativeKernels,
): string | undefined {
  const check = new Check(exports, memory);
  for (const { format, layout, expected } of representatives()) {
    const operands = check.operands(format, expected);
    const own = layout === expected ? operands : check.packedAs(layout, operands);
    for (const kind of ['matVec', 'matMat'] as const) {
      const kernel = native.kernel(layout[kind]);
      if (!kernel && layout === expected) continue;
      if (!kernel) return layout[kind];
      const compute = check[kind];
      const right = compute(exports[expected[kind]] as MatVecKernel & MatMatKernel, operands);
      if (differ(right, compute(kernel as MatVecKernel & MatMatKernel, own))) return layout[kind];
    }
  }
  for (const name of Object.keys(CHECKS) as NativeExport[]) {
    const kernel = native.kernel(name);
    if (!kernel) continue;
    const compute = CHECKS[name](check);
    if (differ(compute(exports[name] as AnyKernel), compute(kernel as AnyKernel))) return name;
  }
  return undefined;
}

/** A kernel that is computed with by a check of its own. */
type AnyKernel = (...numbers: number[]) => void;

/** What is computed with each kernel that is no product: the same operands for any that is given. */
const CHECKS: Readonly<Record<NativeExport, (check: Check) => (kernel: AnyKernel) => Uint32Array>> = {
  attention: (check) => {
    const operands = check.attentionOperands();
    return (kernel) => check.attention(kernel, operands);
  },
  quantize: (check) => check.quantized(),
  gated: (check) => check.activated(),
};

function differ(expected: Uint32Array, found: Uint32Array): boolean {
  return expected.some((word, i) => word !== found[i]);
}

/** Addresses of a product's operands. */
interface Operands extends Activations {
  /** The weight as in a file. */
  readonly file: number;
  readonly weight: number;
  readonly out: number;
  readonly scratch: number;
}

/** A row of activations by itself, and several: records in tiles, or the same rows of f32. */
interface Activations {
  readonly one: number;
  readonly many: number;
}

/** Sizes of the attention that is compared: some heads, whole chunks of positions and a rest. */
const ATTENTION = { group: 3, keySize: 64, valueSize: 32, blockSize: 16, positions: 75 } as const;

/** Addresses of attention's operands. */
interface AttentionOperands {
  readonly q: number;
  readonly keys: number;
  readonly values: number;
  readonly blocks: number;
  readonly parameters: number;
  readonly out: number;
  readonly scratch: number;
}

/** Computes small results in a memory of their own. */
class Check {
  readonly #exports: WasmExports;
  readonly #kernels: KernelExports;
  readonly #memory: WasmMemory;
  readonly #random = numbers();
  /** Rows of activations are the same for all weights that take them as they are: by the span of their scales, 0 for floats. */
  readonly #activations = new Map<number, Activations>();
  /** The end of what stays. */
  #kept: number;
  #next: number;

  constructor(exports: WasmExports, memory: WasmMemory) {
    this.#exports = exports;
    this.#kernels = exports as unknown as KernelExports;
    this.#memory = memory;
    this.#next = this.#kept = this.#kernels.heapBase();
  }

  operands(format: TensorFormat, layout: WeightLayout): Operands {
    const span = format.blockElements === 256 ? 8 : 1;
    const x = this.#rowsFor(layout.activations === 'floats' ? 0 : span);
    this.#next = this.#kept;
    const blocks = new Uint8Array(((ROWS * COLUMNS) / format.blockElements) * format.blockBytes);
    format.fillRandom(blocks, this.#random, 0.05);
    const file = this.#allocate(blocks.byteLength);
    new Uint8Array(this.#memory.buffer, file, blocks.byteLength).set(blocks);
    const scratch = this.#allocate(matmulScratchBytes(TOKENS, COLUMNS));
    const weight = this.#pack(layout, file, scratch);
    return { file, weight, ...x, out: this.#allocate(4 * ROWS * TOKENS), scratch };
  }

  /** The same operands with the weight in another layout. */
  packedAs(layout: WeightLayout, of: Operands): Operands {
    return { ...of, weight: this.#pack(layout, of.file, of.scratch) };
  }

  #pack(layout: WeightLayout, file: number, scratch: number): number {
    const weight = this.#allocate(layout.packedBytes(ROWS, COLUMNS));
    (this.#exports[layout.pack] as PackKernel)(file, weight, 0, ROWS, COLUMNS, scratch);
    return weight;
  }

  #rowsFor(span: number): Activations {
    const made = this.#activations.get(span);
    if (made) return made;
    this.#next = this.#kept;
    const rows = this.#activations.get(0) ?? this.#floatRows();
    this.#activations.set(0, rows);
    if (span === 0) return rows;
    const one = this.#allocate(recordBytes(1, COLUMNS));
    const many = this.#allocate(recordBytes(TOKENS, COLUMNS));
    this.#kept = this.#next;
    const scratch = this.#allocate(matmulScratchBytes(TOKENS, COLUMNS));
    this.#kernels.quantize(rows.many, many, COLUMNS, COLUMNS, TOKENS, TILE_ROWS, 0, scratch, span);
    this.#kernels.quantize(rows.one, one, COLUMNS, COLUMNS, 1, 1, 0, scratch, span);
    const records = { one, many };
    this.#activations.set(span, records);
    return records;
  }

  #floatRows(): Activations {
    const many = this.#floats(TOKENS * COLUMNS);
    this.#kept = this.#next;
    return { one: many, many };
  }

  readonly matVec = (kernel: MatVecKernel, { weight, one, out, scratch }: Operands): Uint32Array => {
    const found = this.#cleared(out, ROWS);
    kernel(weight, one, out, 0, ROWS, COLUMNS, 1, scratch);
    return found.slice();
  };

  readonly matMat = (kernel: MatMatKernel, { weight, many, out, scratch }: Operands): Uint32Array => {
    const found = this.#cleared(out, ROWS * TOKENS);
    kernel(weight, many, out, 0, ROWS, COLUMNS, TOKENS, ROWS, scratch);
    return found.slice();
  };

  attentionOperands(): AttentionOperands {
    this.#next = this.#kept;
    const { group, keySize, valueSize, blockSize, positions } = ATTENTION;
    const table = Math.ceil(positions / blockSize);
    const [keyCellBytes, valueCellBytes] = [2 * keySize, 2 * valueSize];
    const parameters = this.#allocate(ATTENTION_PARAMETER_BYTES);
    const none = Object.fromEntries(SCORE_NAMES.map((name) => [name, 0])) as ScoreNumbers;
    writeAttentionParameters(new DataView(this.#memory.buffer), parameters, {
      ...{ blockSize, group, keySize, valueSize, keyCellBytes, valueCellBytes },
      ...{ keyScaleBytes: 0, valueScaleBytes: 0, keyType: 'f16', valueType: 'f16' },
      scores: { ...none, scale: 0.125 },
    });
    const blocks = this.#allocate(4 * table);
    new Int32Array(this.#memory.buffer, blocks, table).forEach((_, i, all) => {
      all[i] = table - 1 - i;
    });
    return {
      q: this.#floats(group * keySize),
      keys: this.#halves(table * blockSize * keySize),
      values: this.#halves(table * blockSize * valueSize),
      ...{ blocks, parameters },
      out: this.#allocate(4 * group * valueSize),
      scratch: this.#allocate(attentionScratchBytes(group, keySize, valueSize)),
    };
  }

  readonly attention = (
    kernel: KernelExports['attention'],
    { q, keys, values, out, blocks, parameters, scratch }: AttentionOperands,
  ): Uint32Array => {
    const { group, valueSize, positions } = ATTENTION;
    const found = this.#cleared(out, group * valueSize);
    kernel(q, keys, values, out, blocks, parameters, 2, positions, scratch, 0, 0, 0, positions - 1);
    return found.slice();
  };

  /** Rows of two tiles, with scales of one group and of eight, and a rest. */
  quantized(): (kernel: KernelExports['quantize']) => Uint32Array {
    this.#next = this.#kept;
    const columns = COLUMNS - 12;
    const bytes = recordBytes(TILE_ROWS, COLUMNS);
    const [x, out, scratch] = [this.#floats(3 * columns), this.#allocate(4 * bytes), this.#allocate(128)];
    return (kernel) => {
      const found = this.#cleared(out, bytes);
      [1, 8].forEach((span, i) => {
        kernel(x, out + 2 * i * bytes, columns, columns, 3, TILE_ROWS, TILE_ROWS - 1, scratch, span);
      });
      return found.slice();
    };
  }

  /** Each function of some values and a rest, of two rows with something between them. */
  activated(): (kernel: KernelExports['gated']) => Uint32Array {
    this.#next = this.#kept;
    const [count, width] = [37, 41];
    const [gate, up] = [this.#floats(2 * width, 12), this.#floats(2 * width, 9)];
    const out = this.#allocate(8 * width * GATED_FUNCTIONS.length);
    return (kernel) => {
      const found = this.#cleared(out, 2 * width * GATED_FUNCTIONS.length);
      GATED_FUNCTIONS.forEach((_, fn) => kernel(fn, gate, up, out + 8 * width * fn, count, 2, width));
      return found.slice();
    };
  }

  /** Numbers between `-most` and `most`. */
  #floats(length: number, most = 1): number {
    const at = this.#allocate(4 * length);
    const all = new Float32Array(this.#memory.buffer, at, length);
    for (let i = 0; i < length; i++) all[i] = most * (2 * this.#random() - 1);
    return at;
  }

  #halves(length: number): number {
    const at = this.#allocate(2 * length);
    this.#kernels.narrow(this.#floats(length), at, length);
    return at;
  }

  /** Words that hold no earlier result. */
  #cleared(at: number, length: number): Uint32Array {
    return new Uint32Array(this.#memory.buffer, at, length).fill(0xffffffff);
  }

  #allocate(byteLength: number): number {
    const at = alignUp(this.#next, 64);
    this.#next = at + byteLength;
    const missing = Math.ceil((this.#next - this.#memory.buffer.byteLength) / PAGE);
    if (missing > 0) this.#memory.grow(missing);
    return at;
  }
}

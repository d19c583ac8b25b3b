import type { WasmExports, WasmMemory } from '../../base/web-types.ts';
import type { KernelExports, MatVecKernel, PackKernel } from './kernel-exports.ts';
import { WEIGHT_LAYOUTS } from './weight-layouts.ts';

const COLUMNS = 32;
const ROWS = 4;
/** A Q4_0 block: f16 scale, then nibbles. */
const BLOCK_BYTES = 18;
/** 1 as f16. */
const ONE = 0x3c00;

/** Integers that cover the range of eight bits, so that quantizing them is exact. */
function activation(column: number): number {
  return column === 0 ? 127 : column === 1 ? -127 : ((column * 37) % 255) - 127;
}

function nibble(row: number, column: number): number {
  return column < 2 ? 15 : (row * 7 + column * 5) % 16;
}

/**
 * Whether a product of the kernels is exactly right. With relaxed SIMD, a dot product of bytes at the limits of their
 * range is implementation-defined, and runtimes have had it wrong, so what a build computes is tested, not assumed.
 */
export function dotIsRight(exports: WasmExports, memory: WasmMemory): boolean {
  const kernels = exports as unknown as KernelExports;
  const layout = WEIGHT_LAYOUTS.Q4_0;
  if (!layout) return false;
  const base = Math.ceil(kernels.heapBase() / 256) * 256;
  const at = { file: base, packed: base + 1024, x: base + 4096, records: base + 5120, y: base + 6144 };
  const scratch = base + 8192;
  writeWeight(new DataView(memory.buffer, at.file, ROWS * BLOCK_BYTES));
  const x = new Float32Array(memory.buffer, at.x, COLUMNS);
  x.forEach((_, column) => {
    x[column] = activation(column);
  });
  (exports[layout.pack] as PackKernel)(at.file, at.packed, 0, ROWS, COLUMNS, scratch);
  kernels.quantize(at.x, at.records, COLUMNS, COLUMNS, 1, 1, 0, scratch, 1);
  (exports[layout.matVec] as MatVecKernel)(at.packed, at.records, at.y, 0, ROWS, COLUMNS, 1, scratch);
  return new Float32Array(memory.buffer, at.y, ROWS).every((found, row) => found === product(row));
}

function writeWeight(view: DataView): void {
  for (let row = 0; row < ROWS; row++) {
    view.setUint16(row * BLOCK_BYTES, ONE, true);
    for (let i = 0; i < COLUMNS / 2; i++) {
      view.setUint8(row * BLOCK_BYTES + 2 + i, nibble(row, i) | (nibble(row, i + COLUMNS / 2) << 4));
    }
  }
}

function product(row: number): number {
  let sum = 0;
  for (let column = 0; column < COLUMNS; column++) sum += activation(column) * (nibble(row, column) - 8);
  return sum;
}

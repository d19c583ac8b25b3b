import type { WasmSource } from '../base/web-types.ts';
import type { AffineSearch, GroupFits } from './group-fits.ts';

/** Elements of a block whose groups are fitted, and its groups at most. */
const ELEMENTS = 256;
const GROUPS = 16;

/** What the module of `kernels/fits.ts` exports. */
interface FitExports {
  readonly memory: WebAssembly.Memory;
  fitAffine(
    this: void,
    ...fit: [size: number, limit: number, from: number, step: number, count: number, magnitudes: number]
  ): void;
  fitTable(this: void): void;
  fitSigned(this: void, size: number, limit: number): void;
  refineSigned(this: void, size: number, limit: number): void;
}

/** Where the module has its numbers. */
const VALUES = 0;
const WEIGHTS = 1024;
const SCALES = 2048;
const MINS = 2112;
const LEVELS = 3712;
const LEVEL_COUNT = 16;

/** The searches in WebAssembly, four groups at a time: the same results, bit by bit. */
export class WasmFits implements GroupFits {
  readonly values: Float32Array;
  readonly weights: Float32Array;
  readonly scales: Float32Array;
  readonly mins: Float32Array;
  readonly #levels: Float32Array;
  readonly #exports: FitExports;

  /** From the bytes of `encoding/fits.wasm`. */
  constructor(bytes: WasmSource) {
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes));
    this.#exports = exports as unknown as FitExports;
    const { buffer } = this.#exports.memory;
    this.values = new Float32Array(buffer, VALUES, ELEMENTS);
    this.weights = new Float32Array(buffer, WEIGHTS, ELEMENTS);
    this.scales = new Float32Array(buffer, SCALES, GROUPS);
    this.mins = new Float32Array(buffer, MINS, GROUPS);
    this.#levels = new Float32Array(buffer, LEVELS, LEVEL_COUNT);
  }

  affine(size: number, limit: number, { from, step, count, magnitudes }: AffineSearch): void {
    this.#exports.fitAffine(size, limit, from, step, count, magnitudes ? 1 : 0);
  }

  signed(size: number, limit: number): void {
    this.#exports.fitSigned(size, limit);
  }

  refined(size: number, limit: number): void {
    this.#exports.refineSigned(size, limit);
  }

  table(levels: Int8Array): void {
    this.#levels.set(levels);
    this.#exports.fitTable();
  }
}

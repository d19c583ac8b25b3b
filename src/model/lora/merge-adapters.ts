import { BF16, F16, F32, F64, type TensorFormat } from '../../formats/index.ts';
import { loadTensorFloats, type TensorInfo } from '../../gguf/tensor-info.ts';
import { CheckedSource } from '../../io/checked-source.ts';
import type { TensorIndex } from '../part-scope.ts';
import type { LoraAdapter } from './lora-adapter.ts';

/** An adapter's update to a matrix, including its scale. */
interface Addition {
  readonly rank: number;
  /** [rank, columns]. */
  readonly a: Float32Array;
  /** [rows, rank]. */
  readonly b: Float32Array;
}

/** Formats that merged weights keep; others become F16. */
const FLOATS: ReadonlySet<TensorFormat> = new Set([F64, F32, BF16, F16]);

/**
 * The matrices that adapters change, with each adapter's update at its scale: to be loaded instead of the file's.
 * Factors are read into memory; sums are computed as rows are read, so the base's sources must stay open. Rejects with
 * errors of reading.
 */
export async function mergeAdapters(
  adapters: readonly (readonly [LoraAdapter, scale: number])[],
  base: TensorIndex,
): Promise<TensorIndex> {
  const merged = new Map<string, TensorInfo>();
  for (const target of new Set(adapters.flatMap(([{ pairs }]) => [...pairs.keys()]))) {
    const matrix = base.get(target);
    if (!matrix) continue;
    const additions: Addition[] = [];
    for (const [adapter, scale] of adapters) {
      const factors = scale === 0 ? undefined : await adapter.factors(target);
      if (!factors) continue;
      const { a, b } = factors;
      additions.push({ rank: adapter.rankOf(target), a, b: b.map((value) => value * scale) });
    }
    if (additions.length === 0) continue;
    const source = new MergedSource(matrix, additions);
    merged.set(target, { ...matrix, format: source.format, byteLength: source.size, offset: 0, source });
  }
  return merged;
}

/** A matrix with updates, computed row by row as it is read. */
class MergedSource extends CheckedSource {
  readonly format: TensorFormat;
  readonly #base: TensorInfo;
  readonly #additions: readonly Addition[];

  constructor(base: TensorInfo, additions: readonly Addition[]) {
    const format = FLOATS.has(base.format) ? base.format : F16;
    super(`${base.name} with adapters`, base.elementCount * format.blockBytes);
    this.format = format;
    this.#base = base;
    this.#additions = additions;
  }

  protected async fill(offset: number, into: Uint8Array, signal?: AbortSignal): Promise<void> {
    const [columns = 1] = this.#base.shape;
    const rowBytes = columns * this.format.blockBytes;
    const first = Math.floor(offset / rowBytes);
    const end = Math.ceil((offset + into.byteLength) / rowBytes);
    const rows = await this.#rows(first, end - first, signal);
    const bytes = new Uint8Array((end - first) * rowBytes);
    this.format.encode?.(rows, 0, bytes, 0, rows.length);
    const start = offset - first * rowBytes;
    into.set(bytes.subarray(start, start + into.byteLength));
  }

  protected async release(): Promise<void> {}

  async #rows(first: number, count: number, signal: AbortSignal | undefined): Promise<Float32Array> {
    const { elementCount, byteLength, offset, shape } = this.#base;
    const [columns = 1] = shape;
    const rowBytes = (byteLength / elementCount) * columns;
    const part = { elementCount: count * columns, byteLength: count * rowBytes };
    const at = offset + first * rowBytes;
    const rows = await loadTensorFloats({ ...this.#base, ...part, offset: at }, signal);
    for (const { rank, a, b } of this.#additions) {
      for (let row = 0; row < count; row++) {
        const sum = rows.subarray(row * columns, (row + 1) * columns);
        for (let r = 0; r < rank; r++) {
          addScaled(sum, a.subarray(r * columns, (r + 1) * columns), b[(first + row) * rank + r] as number);
        }
      }
    }
    return rows;
  }
}

function addScaled(sum: Float32Array, values: Float32Array, factor: number): void {
  for (let i = 0; i < sum.length; i++) sum[i] = (sum[i] as number) + factor * (values[i] as number);
}

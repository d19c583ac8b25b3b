import { asBytes } from '../base/bytes.ts';
import { fail } from '../base/errors.ts';
import { F32 } from '../formats/index.ts';
import { type GgufFile, GgufWriter, loadTensorFloats } from '../gguf/index.ts';
import type { ByteSink } from '../io/index.ts';
import type { ImportanceMatrix } from './quantize-plan.ts';

/** The suffixes of the two tensors of a matrix: sums of squares per column and expert, and how many rows were summed. */
const SUMS = '.in_sum2';
const COUNTS = '.counts';

/** The value of `general.type` that tells an importance matrix from models. */
const IMPORTANCE_TYPE = 'imatrix';

const DATASETS = 'imatrix.datasets';
const CHUNK_COUNT = 'imatrix.chunk_count';

const CHUNK_SIZE = 'imatrix.chunk_size';

/** What was summed over a text, by the names of weights. */
export interface ImportanceSums {
  readonly datasets: readonly string[];
  readonly chunks: number;
  /** Tokens of a chunk. */
  readonly chunkSize: number;
  readonly weights: ReadonlyMap<string, WeightSums>;
}

/** The sums of a weight: of the squares of each column's values, for each expert one after another, and how many rows each expert had. */
export interface WeightSums {
  readonly squares: Float32Array;
  readonly counts: Float32Array;
}

/** Writes an importance matrix in llama.cpp's format. */
export async function writeImportance(sink: ByteSink, sums: ImportanceSums): Promise<void> {
  const { datasets, chunks, chunkSize, weights } = sums;
  const data: [name: string, shape: number[], values: Float32Array][] = [];
  for (const [name, { squares, counts }] of [...weights].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const width = squares.length / counts.length;
    data.push([name + SUMS, counts.length > 1 ? [width, counts.length] : [width], squares]);
    data.push([name + COUNTS, counts.length > 1 ? [1, counts.length] : [1], counts]);
  }
  const writer = await GgufWriter.begin(sink, {
    metadata: [
      ['general.type', { type: 'string', value: IMPORTANCE_TYPE }],
      [DATASETS, { type: 'array', element: 'string', values: datasets }],
      [CHUNK_COUNT, { type: 'u32', value: chunks }],
      [CHUNK_SIZE, { type: 'u32', value: chunkSize }],
    ],
    tensors: data.map(([name, shape]) => ({ name, shape, format: F32 })),
  });
  for (const [, , values] of data) await writer.write(asBytes(values));
  writer.end();
}

/**
 * Reads llama.cpp's importance matrix: the mean square of what each column is multiplied with. Of an expert that no token
 * chose, all columns count alike. Rejects with `INVALID_ARGUMENT` for another file.
 */
export async function readImportance(gguf: GgufFile, signal?: AbortSignal): Promise<ImportanceMatrix> {
  const { metadata } = gguf;
  const type = metadata.string('general.type');
  if (type !== IMPORTANCE_TYPE) {
    fail('INVALID_ARGUMENT', {
      name: gguf.name,
      found: `a file of general.type ${type ?? 'unknown'}`,
      expected: 'an importance matrix in a GGUF file',
    });
  }
  const columns = new Map<string, Float32Array>();
  for (const tensor of gguf.tensors) {
    if (!tensor.name.endsWith(SUMS)) continue;
    const name = tensor.name.slice(0, -SUMS.length);
    const counts = await loadTensorFloats(gguf.requireTensor(`${name}${COUNTS}`), signal);
    const sums = await loadTensorFloats(tensor, signal);
    const width = sums.length / counts.length;
    columns.set(
      name,
      sums.map((sum, i) => {
        const count = counts[Math.floor(i / width)] ?? 0;
        return count > 0 ? sum / count : 1;
      }),
    );
  }
  const datasets = metadata.get(DATASETS);
  return {
    file: gguf.name,
    datasets: Array.isArray(datasets) ? datasets.map(String) : [],
    chunks: metadata.number(CHUNK_COUNT) ?? 0,
    columns,
  };
}

import { fail } from '../base/errors.ts';
import { type GgufFile, loadTensorFloats } from '../gguf/index.ts';
import type { ImportanceMatrix } from './quantize-plan.ts';

/** The suffixes of the two tensors of a matrix: sums of squares per column and expert, and how many rows were summed. */
const SUMS = '.in_sum2';
const COUNTS = '.counts';

/** The value of `general.type` that tells an importance matrix from models. */
const IMPORTANCE_TYPE = 'imatrix';

const DATASETS = 'imatrix.datasets';
const CHUNK_COUNT = 'imatrix.chunk_count';

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

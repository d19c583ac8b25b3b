import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import koffi from 'koffi';
import { ALL_FORMATS, F16, type TensorFormat } from '../src/formats/index.ts';
import { loadTensorFloats } from '../src/gguf/index.ts';
import { openGguf } from '../src/node/open-gguf.ts';
import { seededRandom } from '../src/base/seeded-random.ts';

// Compares the error of each block that our encoders write with that of ggml's on the same values with the same importance:
// `node dist/bench/block-errors.js <folder of libggml-base> [model.gguf] [docs/quantize.md]` takes rows of every matrix of a model
// (by default the bundled one) as F16 has them, prints a table, and writes it into the page, between its marks.

const ROWS = 24;

const [library, model = 'models/minimind2-small-q4_k_m.gguf', page] = process.argv.slice(2);
if (library === undefined) throw new Error('say where libggml-base is');
const ggml = koffi.load(join(library, 'libggml-base.so'));
const needsImportance = ggml.func('bool ggml_quantize_requires_imatrix(int)') as (type: number) => boolean;
const quantize = ggml.func(
  'size_t ggml_quantize_chunk(int, const float *, void *, int64, int64, int64, const float *)',
) as (...of: readonly (number | ArrayBufferView | null)[]) => number;

/** Rows of a matrix. */
interface Sample {
  readonly values: Float32Array;
  readonly columns: number;
  readonly importance: Float32Array;
}

/** Sums over all blocks. */
interface Found {
  blocks: number;
  /** The largest ratio of our error of a block to ggml's. */
  largest: number;
  ours: number;
  theirs: number;
}

const samples = await samplesOf(model);
const lines = [
  '| format | blocks | largest ratio of a block | weighted | ratio of all errors | weighted |',
  '|---|---|---|---|---|---|',
];
for (const format of ALL_FORMATS) {
  if (!format.encode || !format.layout) continue;
  const plain = needsImportance(format.ggmlType) ? undefined : compared(format, false);
  const weighted = compared(format, true);
  if (weighted.blocks === 0) continue;
  const ratios = [plain, weighted].map((of) => of?.largest.toFixed(3) ?? '');
  const sums = [plain, weighted].map((of) => (of ? (of.ours / of.theirs).toFixed(3) : ''));
  lines.push(`| ${[format.name, weighted.blocks, ...ratios, ...sums].join(' | ')} |`);
  console.log(lines.at(-1));
}
if (page !== undefined) {
  const text = readFileSync(page, 'utf8');
  const [before, after] = [
    text.indexOf('<!-- block errors -->'),
    text.indexOf('<!-- end of block errors -->'),
  ];
  if (before < 0 || after < 0) throw new Error(`${page} has no marks`);
  const mark = '<!-- block errors -->\n\n';
  writeFileSync(page, `${text.slice(0, before)}${mark}${lines.join('\n')}\n\n${text.slice(after)}`);
}

/** Rows from all matrices of a model, rounded to halves, and a random importance of the columns. */
async function samplesOf(path: string): Promise<Sample[]> {
  await using gguf = await openGguf(path);
  const random = seededRandom(7);
  const found: Sample[] = [];
  for (const tensor of gguf.tensors) {
    const [columns = 0, rows = 0] = tensor.shape;
    if (tensor.shape.length !== 2 || columns % 256 !== 0) continue;
    const all = await loadTensorFloats(tensor);
    const step = Math.max(1, Math.floor(rows / ROWS));
    const values = new Float32Array(Math.min(ROWS, rows) * columns);
    for (let row = 0; row * columns < values.length; row++) {
      values.set(all.subarray(row * step * columns, (row * step + 1) * columns), row * columns);
    }
    const importance = Float32Array.from({ length: columns }, () => 0.01 + 10 * random() ** 4);
    found.push({ values: asHalves(values), columns, importance });
  }
  return found;
}

function asHalves(values: Float32Array): Float32Array {
  const bytes = new Uint8Array(2 * values.length);
  F16.encode?.(values, 0, bytes, 0, values.length);
  const halves = new Float32Array(values.length);
  F16.decode(bytes, 0, halves, 0, values.length);
  return halves;
}

function compared(format: TensorFormat, isWeighted: boolean): Found {
  const found: Found = { blocks: 0, largest: 0, ours: 0, theirs: 0 };
  for (const sample of samples) compare(format, sample, isWeighted, found);
  return found;
}

function compare(
  format: TensorFormat,
  { values, columns, importance }: Sample,
  isWeighted: boolean,
  found: Found,
): void {
  if (columns % format.blockElements !== 0) return;
  const rows = values.length / columns;
  const rowBlocks = columns / format.blockElements;
  const [own, other] = [0, 1].map(() => new Uint8Array(rows * rowBlocks * format.blockBytes)) as [
    Uint8Array,
    Uint8Array,
  ];
  const weights = isWeighted ? importance : undefined;
  quantize(format.ggmlType, values, other, 0, rows, columns, weights ?? null);
  for (let row = 0; row < rows; row++) {
    const at = row * rowBlocks * format.blockBytes;
    format.encode?.(values, row * columns, own, at, rowBlocks, { importance: weights });
  }
  const decoded = [own, other].map((bytes) => {
    const floats = new Float32Array(values.length);
    format.decode(bytes, 0, floats, 0, rows * rowBlocks);
    return floats;
  }) as [Float32Array, Float32Array];
  for (let block = 0; block < rows * rowBlocks; block++) {
    const from = block * format.blockElements;
    const [ours, theirs] = decoded.map((floats) => {
      let sum = 0;
      for (let i = from; i < from + format.blockElements; i++) {
        const weight = weights?.[i % columns] ?? 1;
        sum += weight * ((floats[i] as number) - (values[i] as number)) ** 2;
      }
      return sum;
    }) as [number, number];
    found.blocks++;
    found.ours += ours;
    found.theirs += theirs;
    if (ours > 0) found.largest = Math.max(found.largest, ours / theirs);
  }
}

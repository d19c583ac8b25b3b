import assert from 'node:assert/strict';
import { readFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { GgufFile, type GgufPlan, GgufWriter } from '../../src/gguf/index.ts';
import { MemorySink, MemorySource } from '../../src/io/index.ts';
import { writeQuantized } from '../../src/node/quantize-model.ts';
import { readImportance } from '../../src/quantize/importance-file.ts';
import { mixNamed } from '../../src/quantize/mixes.ts';
import { type ImportanceMatrix, planQuantize } from '../../src/quantize/quantize-plan.ts';
import { format } from '../support/gguf-files.ts';
import { seededRandom } from '../support/random.ts';
import { temporaryFolder } from '../support/temporary.ts';

const COLUMNS = 256;
const EXPERTS = 2;
const UP = 'blk.0.ffn_up_exps.weight';

/** A file of F32 tensors with these values. */
async function fileWith(
  tensors: Readonly<Record<string, { shape: number[]; values: Float32Array }>>,
  type?: string,
) {
  const metadata: GgufPlan['metadata'] = [
    ['general.architecture', { type: 'string', value: 'llama' }],
    ['llama.block_count', { type: 'u32', value: 1 }],
    ...(type ? ([['general.type', { type: 'string', value: type }]] as const) : []),
  ];
  const planned = Object.entries(tensors).map(([name, { shape }]) => ({
    name,
    shape,
    format: format('F32'),
  }));
  const sink = new MemorySink();
  const writer = await GgufWriter.begin(sink, { metadata, tensors: planned });
  for (const { values } of Object.values(tensors)) {
    await writer.write(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
  }
  writer.end();
  return GgufFile.open(new MemorySource(sink.bytes(), 'memory'));
}

function weights(count: number): Float32Array {
  const random = seededRandom(5);
  return Float32Array.from({ length: count }, () => random() - 0.5);
}

const mix = mixNamed('Q4_K_S');
assert.ok(mix);

function importance(columns: Float32Array): ImportanceMatrix {
  return { file: 'x', datasets: ['a', 'b'], chunks: 3, columns: new Map([[UP, columns]]) };
}

test('rows are quantized as their expert’s importance says, on any number of threads', async (t) => {
  const rows = 700;
  const values = weights(COLUMNS * rows * EXPERTS);
  await using gguf = await fileWith({ [UP]: { shape: [COLUMNS, rows, EXPERTS], values } });
  const columns = Float32Array.from({ length: COLUMNS * EXPERTS }, (_, i) => 1 + ((i * i) % 97));
  const path = join(temporaryFolder(t), 'out.gguf');
  const files = [];
  for (const threads of [1, 3]) {
    const progress: number[] = [];
    const plan = planQuantize(gguf, { mix, importance: importance(columns) });
    await writeQuantized(gguf, plan, { path, threads, onProgress: (done) => progress.push(done) });
    assert.equal(progress.at(-1), values.byteLength);
    files.push(readFileSync(path));
  }
  assert.deepEqual(files[0], files[1]);
  await using written = await GgufFile.open(new MemorySource(new Uint8Array(files[0] as Buffer), path));
  assert.equal(written.metadata.number('quantize.imatrix.chunks_count'), 3);
  const { format: q4, offset } = written.requireTensor(UP);
  for (const row of [0, rows - 1, rows, 2 * rows - 1]) {
    const expert = Math.floor(row / rows);
    const bytes = new Uint8Array(q4.blockBytes);
    const own = columns.subarray(expert * COLUMNS, (expert + 1) * COLUMNS);
    q4.encode?.(values, row * COLUMNS, bytes, 0, 1, { importance: own });
    const at = offset + row * q4.blockBytes;
    assert.deepEqual(Uint8Array.from(files[0]?.subarray(at, at + q4.blockBytes) ?? []), bytes, `row ${row}`);
  }
});

test('NaN in a tensor is reported with its place, and no file is left', async (t) => {
  const values = weights(4 * COLUMNS);
  values[2 * COLUMNS + 3] = Number.NaN;
  await using gguf = await fileWith({ 'blk.0.ffn_up.weight': { shape: [COLUMNS, 4], values } });
  const path = join(temporaryFolder(t), 'out.gguf');
  await assert.rejects(writeQuantized(gguf, planQuantize(gguf, { mix }), { path, threads: 1 }), {
    code: 'WEIGHTS_NOT_FINITE',
    message: /element 515/,
  });
  assert.ok(!existsSync(path));
});

test('an importance matrix of another model is refused, and one is required for few bits', async () => {
  const values = weights(4 * COLUMNS);
  await using gguf = await fileWith({ [UP]: { shape: [COLUMNS, 2, EXPERTS], values } });
  const mismatch = { code: 'IMPORTANCE_MISMATCH' };
  assert.throws(
    () => planQuantize(gguf, { mix, importance: importance(new Float32Array(COLUMNS)) }),
    mismatch,
  );
  const wrong = new Float32Array(2 * COLUMNS).fill(Number.POSITIVE_INFINITY);
  assert.throws(() => planQuantize(gguf, { mix, importance: importance(wrong) }), mismatch);
  const small = mixNamed('Q2_K_S');
  assert.ok(small);
  assert.throws(() => planQuantize(gguf, { mix: small }), { code: 'IMPORTANCE_MISSING' });
});

test('a matrix of llama.cpp is read as means; an expert that was never chosen counts alike', async () => {
  const sums = Float32Array.of(2, 4, 6, 8);
  const tensors = {
    [`${UP}.in_sum2`]: { shape: [2, 2], values: sums },
    [`${UP}.counts`]: { shape: [1, 2], values: Float32Array.of(2, 0) },
  };
  await using gguf = await fileWith(tensors, 'imatrix');
  const read = await readImportance(gguf);
  assert.deepEqual(read.columns.get(UP), Float32Array.of(1, 2, 1, 1));
  await using model = await fileWith(tensors);
  await assert.rejects(readImportance(model), { code: 'INVALID_ARGUMENT' });
});

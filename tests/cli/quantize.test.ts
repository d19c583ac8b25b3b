import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { F16, F32 } from '../../src/formats/index.ts';
import { GgufWriter } from '../../src/gguf/index.ts';
import { MemorySink } from '../../src/io/index.ts';
import { syntheticShape } from '../../src/model/synthetic/shapes.ts';
import { openGguf } from '../../src/node/open-gguf.ts';
import { writeSyntheticModel } from '../../src/node/write-synthetic-model.ts';
import { startRangeServer } from '../support/range-server.ts';
import { BUNDLED, runCli, startCli } from '../support/run-cli.ts';
import { temporaryFolder } from '../support/temporary.ts';

test('quantize writes a file that runs, and says what it holds', async (t) => {
  const folder = temporaryFolder(t);
  const [source, target] = [join(folder, 'tiny-f16.gguf'), join(folder, 'tiny.gguf')];
  const shape = syntheticShape('llama-tiny', { layers: 1 });
  await writeSyntheticModel({ path: source, name: 'tiny', shape, format: F16, seed: 3 });
  const done = await runCli(t, ['quantize', source, 'q4_k_m', '-o', target, '-t', '2', '--json']);
  assert.equal(done.code, 0, done.stderr);
  const report = JSON.parse(done.stdout) as { tensors: { name: string; format: string }[] };
  assert.equal(report.tensors.find(({ name }) => name === 'blk.0.ffn_up.weight')?.format, 'Q4_K');
  await using gguf = await openGguf(target);
  assert.equal(gguf.metadata.number('general.file_type'), 15);
  for (const { name, format } of report.tensors) assert.equal(gguf.requireTensor(name).format.name, format);
  const answer = await runCli(t, ['run', '-d', 'reference', '-m', target, '-p', 'hi', '-n', '2']);
  assert.equal(answer.code, 0, answer.stderr);
  assert.deepEqual(readdirSync(folder).toSorted(), ['tiny-f16.gguf', 'tiny.gguf']);
  const same = await runCli(t, ['quantize', source, 'q8_0', '-o', source]);
  assert.match(same.stderr, /another file than the source/);
});

test('quantize reads an importance matrix from a file', async (t) => {
  const folder = temporaryFolder(t);
  const [source, matrix] = [join(folder, 'tiny-f16.gguf'), join(folder, 'matrix.gguf')];
  const shape = syntheticShape('llama-tiny', { layers: 1 });
  await writeSyntheticModel({ path: source, name: 'tiny', shape, format: F16, seed: 3 });
  const sums = new Float32Array(256).fill(2);
  const up = 'blk.0.ffn_up.weight';
  const tensors = [
    { name: `${up}.in_sum2`, format: F32, shape: [256, 1] },
    { name: `${up}.counts`, format: F32, shape: [1, 1] },
  ];
  const sink = new MemorySink();
  const metadata = [['general.type', { type: 'string', value: 'imatrix' }]] as const;
  const writer = await GgufWriter.begin(sink, { metadata, tensors });
  await writer.write(new Uint8Array(sums.buffer));
  await writer.write(new Uint8Array(Float32Array.of(1).buffer));
  writeFileSync(matrix, sink.bytes());
  const target = join(folder, 'x.gguf');
  const done = await runCli(t, ['quantize', source, 'Q4_0', '--imatrix', matrix, '-o', target]);
  assert.equal(done.code, 0, done.stderr);
  await using gguf = await openGguf(target);
  assert.equal(gguf.metadata.number('quantize.imatrix.entries_count'), 1);
});

test('quantize refuses a source that is quantized already, and shows what requantizing would give', async (t) => {
  const folder = temporaryFolder(t);
  const args = ['quantize', BUNDLED, 'Q5_K_S', '-o', join(folder, 'x.gguf')];
  const refused = await runCli(t, args);
  assert.notEqual(refused.code, 0);
  assert.match(refused.stderr, /--requantize/);
  const shown = await runCli(t, [...args, '--requantize', '--dry-run']);
  assert.match(shown.stdout, /bits a weight/);
  assert.deepEqual(readdirSync(folder), []);
});

test('Ctrl-C ends quantize with 130, and leaves no half file', async (t) => {
  const folder = temporaryFolder(t);
  const server = await startRangeServer(t, new Map([['/model.gguf', readFileSync(BUNDLED)]]));
  // The header comes with the first request; what is asked for then never arrives.
  Object.defineProperty(server.behaviour, 'stallAfter', {
    get: () => (server.requests.length > 1 ? 1000 : undefined),
  });
  const args = [`${server.url}/model.gguf`, 'Q8_0', '--requantize', '-o', join(folder, 'x.gguf')];
  const { process, result } = startCli(t, 'quantize', ...args);
  while (readdirSync(folder).length === 0) await setTimeout(20);
  process.kill('SIGINT');
  const { code, signal } = await result;
  assert.deepEqual({ code, signal }, { code: 130, signal: null });
  assert.deepEqual(readdirSync(folder), []);
});

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readTensors } from '../src/convert/checkpoint.ts';
import { planConvert } from '../src/convert/convert-plan.ts';
import { loadTensorFloats } from '../src/gguf/index.ts';
import type { ByteSource } from '../src/io/index.ts';
import { checkpointFolder, writeConverted } from '../src/node/convert-model.ts';
import { openGguf } from '../src/node/open-gguf.ts';
import { CHECKPOINT_TEXT, writeCheckpoint } from '../tests/support/write-checkpoint.ts';

/**
 * `node dist/bench/importance.js <llama-imatrix>` writes `tests/fixtures/importance.json`: what llama.cpp's tool sums while the small
 * mixture of the tests reads their text.
 */

const SUMS = '.in_sum2';

const [tool] = process.argv.slice(2);
if (!tool) throw new Error('expected the path of llama-imatrix');
const folder = mkdtempSync(join(tmpdir(), 'importance-'));
const opened: ByteSource[] = [];
try {
  const model = join(folder, 'm.gguf');
  const matrix = join(folder, 'i.gguf');
  const text = join(folder, 'text.txt');
  const files = checkpointFolder(writeCheckpoint(folder, 'qwen3moe'));
  await writeConverted(await planConvert(files, await readTensors(files, opened), { type: 'f32' }), {
    path: model,
  });
  writeFileSync(text, CHECKPOINT_TEXT);
  const args = ['-m', model, '-f', text, '-o', matrix, '-c', '64', '-b', '64', '--no-ppl', '-ngl', '0'];
  execFileSync(tool, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  await using gguf = await openGguf(matrix);
  const found: Record<string, unknown> = {};
  for (const tensor of gguf.tensors) {
    if (!tensor.name.endsWith(SUMS)) continue;
    const weight = tensor.name.slice(0, -SUMS.length);
    const squares = await loadTensorFloats(tensor);
    const counts = [...(await loadTensorFloats(gguf.requireTensor(`${weight}.counts`)))];
    const width = squares.length / counts.length;
    const sums = counts.map((_, expert) =>
      rounded(sumOf(squares.subarray(expert * width, (expert + 1) * width))),
    );
    found[weight] = { counts, sums, first: rounded(squares[0] ?? 0) };
  }
  writeFileSync('tests/fixtures/importance.json', `${JSON.stringify(found, undefined, 1)}\n`);
} finally {
  for (const source of opened) await source.dispose();
  rmSync(folder, { recursive: true, force: true });
}

function sumOf(values: Float32Array): number {
  return values.reduce((a, b) => a + b, 0);
}

/** To the digits that an f32 has. */
function rounded(value: number): number {
  return Number(value.toPrecision(7));
}

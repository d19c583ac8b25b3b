// Writes which formats llama.cpp chooses in each mix, with importance and without: `node dist/bench/quantize-mixes.js
// <llama-quantize>`. `tests/quantize/choose-formats.test.ts` compares our choices with it. The models are headers with next
// to no weights (`tests/support/mixed-models.ts`).
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { F32 } from '../src/formats/index.ts';
import { MIXES } from '../src/quantize/mixes.ts';
import { fixture } from '../tests/support/fixture.ts';
import { fileOf } from '../tests/support/gguf-files.ts';
import { formatsText, MIXED_MODELS, mixedPlan } from '../tests/support/mixed-models.ts';

const [program] = process.argv.slice(2);
if (program === undefined) throw new Error('say where llama-quantize is');
const folder = mkdtempSync(join(tmpdir(), 'quantize-mixes-'));
const importance = join(folder, 'imatrix.gguf');
writeFileSync(importance, await importanceFile());
const golden: Record<string, string> = {};
for (const [name, model] of Object.entries(MIXED_MODELS)) {
  const path = join(folder, 'model.gguf');
  writeFileSync(path, await fileOf(mixedPlan(model)));
  for (const mix of MIXES) {
    // llama.cpp refuses rows that are no whole number of these blocks.
    if (name === 'qwen2' && mix.name === 'Q1_0') continue;
    for (const [what, options] of [
      ['', []],
      [' imatrix', ['--imatrix', importance]],
    ] as const) {
      golden[`${name} ${mix.name}${what}`] = formatsText(chosen([...options, '--dry-run', path, mix.name]));
    }
  }
}
writeFileSync(fixture('quantize-mixes.json'), `${JSON.stringify(golden, undefined, 1)}\n`);
rmSync(folder, { recursive: true });

/** Lines of the form `[ 1/ 99] blk.0.attn_q.weight - [256, 2, 1, 1], type = f16, size = 1 MiB -> 1 MiB (q4_K)`. */
function chosen(words: readonly string[]): [string, string][] {
  const { status, stdout, stderr } = spawnSync(program as string, words, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${words.join(' ')}: ${stdout.slice(-500)}${stderr.slice(-2000)}`);
  const lines = `${stdout}${stderr}`.matchAll(
    /\[ *\d+\/ *\d+\] (\S+) +- \[[^\]]*\], type = +(\w+), size = [^\n]*?(?:\((\w+)\))?\n/g,
  );
  return [...lines].map(([, tensor = '', own = '', become]) => [tensor, (become ?? own).toUpperCase()]);
}

/** An importance matrix of a tensor that no model has: what counts is that there is one. */
async function importanceFile(): Promise<Uint8Array> {
  return fileOf({
    metadata: [
      ['general.type', { type: 'string', value: 'imatrix' }],
      ['imatrix.datasets', { type: 'array', element: 'string', values: ['none'] }],
      ['imatrix.chunk_count', { type: 'u32', value: 1 }],
      ['imatrix.chunk_size', { type: 'u32', value: 1 }],
    ],
    tensors: [
      { name: 'none.weight.in_sum2', format: F32, shape: [1, 1] },
      { name: 'none.weight.counts', format: F32, shape: [1, 1] },
    ],
  });
}

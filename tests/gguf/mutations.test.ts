import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { sampleModels } from '../fuzz/samples.ts';
import { tryOpen } from '../fuzz/try-open.ts';
import { HUNG_MS } from '../support/hung.ts';

const MUTATIONS = 20_000;

interface Report {
  readonly runs: number;
  readonly rssMiB: number;
  readonly outcomes: Readonly<Record<string, number>>;
}

/** In a process of its own, so that a crash or a hang is seen as what it is. */
async function fuzz(runs: number, seed: number): Promise<Report> {
  const script = fileURLToPath(new URL('../fuzz/run-fuzz.js', import.meta.url));
  const args = ['--enable-source-maps', script, '--runs', `${runs}`, '--seed', `${seed}`];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: HUNG_MS });
  return JSON.parse(stdout);
}

test(`${MUTATIONS} damaged models give typed errors or open soundly`, async (t) => {
  const { runs, rssMiB, outcomes } = await fuzz(MUTATIONS, 2024);
  t.diagnostic(`${rssMiB} MiB; ${JSON.stringify(outcomes)}`);
  assert.equal(runs, MUTATIONS);
  assert.ok(rssMiB < 512, `${rssMiB} MiB: a lie in a file made something allocate`);
  for (const code of ['ok', 'GGUF_TRUNCATED', 'GGUF_INVALID', 'GGUF_TENSOR_BOUNDS', 'GGUF_TENSOR_OVERLAP']) {
    assert.ok(outcomes[code], `no mutation led to ${code}: the mutations are too weak`);
  }
});

test('a file cut off anywhere never opens as if it were whole', async () => {
  for (const model of (await sampleModels()).slice(0, 2)) {
    for (const [name, bytes] of model) {
      for (let length = 0; length < bytes.length; length += bytes.length < 1000 ? 1 : 41) {
        const outcome = await tryOpen(new Map([[name, bytes.subarray(0, length)]]));
        const paddingOnly = bytes.length - length < 64;
        assert.ok(outcome.startsWith('GGUF_') || paddingOnly, `${length} bytes: ${outcome}`);
      }
    }
  }
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fixture } from '../tests/support/fixture.ts';
import {
  BUNDLED_CONTROL,
  CONTROL_CASES,
  type ControlCase,
  writeControls,
} from '../tests/support/control-vectors.ts';

/**
 * `node dist/bench/control-vectors.js <llama-server>` writes `tests/fixtures/control-vectors.json`: the log-probabilities of the most
 * likely tokens behind the texts of the tests, as llama.cpp has them with control vectors.
 */

const PORT = 18_471;
const ADDRESS = `http://127.0.0.1:${PORT}`;
const MOST_LIKELY = 32;

const [program] = process.argv.slice(2);
if (program === undefined) throw new Error('say where llama-server is');
const folder = mkdtempSync(join(tmpdir(), 'control-vectors-'));
try {
  const lines: string[] = [];
  for (const [name, of] of Object.entries({ ...CONTROL_CASES, bundled: BUNDLED_CONTROL })) {
    lines.push(` ${JSON.stringify(name)}: ${JSON.stringify(await mostLikely(program, of))}`);
  }
  writeFileSync(fixture('control-vectors.json'), `{\n${lines.join(',\n')}\n}\n`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Ids and log-probabilities. */
async function mostLikely(server: string, of: ControlCase): Promise<readonly (readonly [number, number])[]> {
  const sources = await writeControls(of, folder);
  const scaled = sources.map(({ location, scale }) => `${location}:${scale}`).join(',');
  const range = of.layers ? ['--control-vector-layer-range', ...of.layers.map(String)] : [];
  const control = ['--control-vector-scaled', scaled, ...range];
  const model = ['-m', of.model, '-c', '128', '-np', '1', '-ctk', 'f32', '-ctv', 'f32', '-fa', 'off'];
  const running = spawn(server, [...model, ...control, '--port', String(PORT), '-t', '2', '--no-warmup'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  try {
    while (!(await isReady())) {
      if (running.exitCode !== null) throw new Error(`llama-server ended with ${running.exitCode}`);
      await setTimeout(200);
    }
    const body = { prompt: of.ids, n_predict: 1, n_probs: MOST_LIKELY, temperature: 0, cache_prompt: false };
    const response = await fetch(`${ADDRESS}/completion`, { method: 'POST', body: JSON.stringify(body) });
    const { completion_probabilities: found } = (await response.json()) as {
      completion_probabilities: [{ top_logprobs: { id: number; logprob: number }[] }];
    };
    return found[0].top_logprobs.map(({ id, logprob }) => [id, Number(logprob.toFixed(5))] as const);
  } finally {
    running.kill();
    if (running.exitCode === null) await once(running, 'exit');
  }
}

async function isReady(): Promise<boolean> {
  return fetch(`${ADDRESS}/health`).then(
    ({ ok }) => ok,
    () => false,
  );
}

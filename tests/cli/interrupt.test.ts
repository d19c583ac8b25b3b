import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { startRangeServer } from '../support/range-server.ts';
import { BUNDLED, ENDLESS, startCli, tinyModelFile } from '../support/run-cli.ts';

/** The process must end by itself: what it left open would keep it alive. */
const INTERRUPTED = { code: 130, signal: null, stderr: '' };

test('Ctrl-C ends an answer with 130', async (t) => {
  const model = await tinyModelFile(t);
  const args = ['run', '-d', 'reference', '-m', model, '-p', 'hi', ...ENDLESS];
  const { process, result } = startCli(t, ...args);
  await once(process.stdout, 'data');
  process.kill('SIGINT');
  const { stdout, ...end } = await result;
  assert.deepEqual(end, INTERRUPTED);
  assert.ok(stdout.length > 0, 'some of the answer');
});

for (const device of ['reference', 'cpu']) {
  test(`Ctrl-C ends a load onto the ${device} device with 130`, async (t) => {
    const server = await startRangeServer(t, new Map([['/model.gguf', readFileSync(BUNDLED)]]));
    // The header comes with the first request; what is asked for then never arrives.
    Object.defineProperty(server.behaviour, 'stallAfter', {
      get: () => (server.requests.length > 1 ? 1000 : undefined),
    });
    const location = `${server.url}/model.gguf`;
    const { process, result } = startCli(t, 'run', '-d', device, '-m', location, '-p', 'hi');
    while (server.requests.length < 2) await setTimeout(20);
    process.kill('SIGINT');
    assert.deepEqual(await result, { ...INTERRUPTED, stdout: '' });
  });
}

test('Ctrl-C ends the wait for standard input with 130', async (t) => {
  const { process, result } = startCli(t, 'tokenize', '--log', 'debug');
  await once(process.stderr, 'data');
  process.kill('SIGINT');
  const { code, signal, stdout } = await result;
  assert.deepEqual({ code, signal, stdout }, { code: 130, signal: null, stdout: '' });
});

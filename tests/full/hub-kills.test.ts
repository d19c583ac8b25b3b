import assert from 'node:assert/strict';
import { randomFillSync } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ByteRanges } from '../../src/node/hub/byte-ranges.ts';
import { readJournal } from '../../src/node/hub/download-journal.ts';
import { sha256Of, startHub } from '../support/hub/hub-server.ts';
import { hubEnvironment, rangesAsked } from '../support/hub/pulling.ts';
import { until } from '../support/hung.ts';
import { seededRandom } from '../support/random.ts';
import { startCliIn } from '../support/run-cli.ts';

const CONTENT = randomFillSync(new Uint8Array(64_000_000));
const HASH = sha256Of(CONTENT);
const KILLS = 10;

test('killed ten times at random, a pull is right in the end, and fetches no byte twice that was on disk', async (t) => {
  const server = await startHub(t, { 'user/big': { 'big-Q4_0.gguf': CONTENT } });
  server.behaviour.slowBy = 16_384;
  const environment = { ...process.env, ...hubEnvironment(t, server) };
  const blobs = join(environment.HF_HOME ?? '', 'hub', 'models--user--big', 'blobs');
  const synced = async () =>
    (await readJournal(join(blobs, `${HASH}.rocmforge-journal`)))?.ranges ?? new ByteRanges();
  const random = seededRandom(5);
  const pull = () => startCliIn(t, environment, ['pull', 'user/big']);
  const checkAsked = (from: number, before: ByteRanges) => {
    for (const [start, end] of rangesAsked(server, from)) {
      for (const [first, last] of before) {
        assert.ok(end <= first || start >= last, `${start}-${end} was asked for, ${first}-${last} was here`);
      }
    }
  };
  for (let kill = 0; kill < KILLS; kill++) {
    const before = await synced();
    const from = server.asked.length;
    const running = pull();
    const target = before.bytes + Math.floor(random() * 800_000);
    const closed = once(running.process, 'close');
    await until(
      () => 'the download does not go on',
      async () => running.process.exitCode !== null || (await synced()).bytes > target,
    );
    assert.equal(running.process.exitCode, null, 'it is killed while it downloads');
    running.process.kill('SIGKILL');
    await closed;
    checkAsked(from, before);
  }
  const before = await synced();
  assert.ok(before.bytes > 0 && before.bytes < CONTENT.length, `${before.bytes} before the last`);
  const from = server.asked.length;
  server.behaviour.slowBy = undefined;
  const { code, stdout, stderr } = await pull().result;
  assert.equal(code, 0, stderr);
  checkAsked(from, before);
  assert.equal(sha256Of(readFileSync(stdout.trim())), HASH);
  assert.deepEqual(readdirSync(blobs), [HASH]);
});

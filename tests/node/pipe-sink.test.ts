import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, lstatSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { buffer } from 'node:stream/consumers';
import { FileSink } from '../../src/node/index.ts';
import { PipeSink } from '../../src/node/pipe-sink.ts';
import { writeWhole } from '../../src/node/write-whole.ts';
import { startCli, tinyModelFile } from '../support/run-cli.ts';
import { temporaryFolder } from '../support/temporary.ts';

const NO_PIPES = process.platform === 'win32' && 'Windows has no named pipes in folders';

/** More than a pipe holds. */
const BYTES = Uint8Array.from({ length: 1 << 20 }, (_, at) => (at * 7) & 255);

function pipeIn(t: TestContext): string {
  const path = join(temporaryFolder(t), 'pipe');
  execFileSync('mkfifo', [path]);
  return path;
}

/** Opens a pipe and reads nothing. */
async function stoppedReader(t: TestContext, path: string) {
  const reader = spawn('sh', ['-c', 'exec 3<"$0"; echo; exec sleep 1000', path]);
  t.after(() => reader.kill('SIGKILL'));
  return reader;
}

test(
  'a pipe takes a file in whole as soon as somebody reads, and stays a pipe',
  { skip: NO_PIPES },
  async (t) => {
    const path = pipeIn(t);
    const written = writeWhole(path, async (sink) => {
      for (const half of [BYTES.subarray(0, 1 << 19), BYTES.subarray(1 << 19)]) await sink.write(half);
      return 'written';
    });
    const reader = spawn('cat', [path]);
    const read = buffer(reader.stdout);
    assert.equal(await written, 'written');
    assert.ok((await read).equals(BYTES));
    assert.ok(lstatSync(path).isFIFO());
  },
);

test('a pipe that nobody reads is refused, one whose reader ends told of', { skip: NO_PIPES }, async (t) => {
  const path = pipeIn(t);
  const none = { code: 'WRITE_FAILED', message: /nobody reads from this pipe: start its reader/ };
  await assert.rejects(PipeSink.open(path, { readerWait: 0 }), none);
  const reader = await stoppedReader(t, path);
  await using sink = await PipeSink.open(path);
  const failed = assert.rejects(sink.write(BYTES), { code: 'WRITE_FAILED', message: /its reader has ended/ });
  await once(reader.stdout, 'data');
  reader.kill('SIGKILL');
  await failed;
});

test(
  'waiting for a reader, or for one that has stopped, ends when it is aborted',
  { skip: NO_PIPES },
  async (t) => {
    const path = pipeIn(t);
    const waiting = new AbortController();
    const opening = PipeSink.open(path, { signal: waiting.signal });
    waiting.abort();
    await assert.rejects(opening, { code: 'ABORTED' });
    await stoppedReader(t, path);
    const writing = new AbortController();
    await using sink = await PipeSink.open(path, { signal: writing.signal });
    const written = sink.write(BYTES);
    writing.abort();
    await assert.rejects(written, { code: 'ABORTED' });
  },
);

test(
  'a command that writes into a pipe without a reader ends when it is told to',
  { skip: NO_PIPES },
  async (t) => {
    const path = pipeIn(t);
    const model = await tinyModelFile(t);
    const { process, result } = startCli(t, 'quantize', model, 'Q8_0', '-o', path, '--log', 'debug');
    await once(process.stderr, 'data');
    process.kill('SIGTERM');
    const { code, signal } = await result;
    assert.deepEqual({ code, signal }, { code: 143, signal: null });
  },
);

test('a file that cannot take more is called what its user calls it', async (t) => {
  if (!existsSync('/dev/full')) return t.skip('there is no /dev/full here');
  await using full = await FileSink.create('/dev/full', false, 'model.gguf');
  await assert.rejects(full.write(new Uint8Array(10)), { code: 'WRITE_FAILED', message: /^model\.gguf / });
});

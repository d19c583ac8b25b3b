import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { endsLoading, loadingThread } from '../../src/node/native-loading.ts';
import { openCpu } from '../../src/node/open-cpu.ts';

const MODULE = new URL('../../src/node/native-loading.js', import.meta.url).href;

/** A thread that loads twice, and says when each begins and ends. */
function threadOf(workerData: unknown): Worker {
  const text = `
    const { parentPort } = require('node:worker_threads');
    import(${JSON.stringify(MODULE)}).then(async ({ whileLoading }) => {
      for (const nth of [1, 2]) {
        await whileLoading(async () => {
          parentPort.postMessage('begins ' + nth);
          await new Promise((resolve) => setTimeout(resolve, 100));
          parentPort.postMessage('ends ' + nth);
        });
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    });`;
  return new Worker(text, { eval: true, workerData });
}

test('a thread may be ended when it has loaded what it loads, and loads nothing more', async () => {
  const said: string[] = [];
  const loading = loadingThread();
  const worker = threadOf(loading);
  worker.on('message', (message: string) => said.push(message));
  await once(worker, 'message');
  await endsLoading(loading, () => false);
  // Time for the second load, which does not come.
  await new Promise((resolve) => setTimeout(resolve, 200));
  await worker.terminate();
  assert.deepEqual(said, ['begins 1', 'ends 1']);
});

test('a thread that ended within a load is not waited for, and one of others loads as ever', async () => {
  const loading = loadingThread();
  const dead = threadOf(loading);
  await once(dead, 'message');
  await dead.terminate();
  await endsLoading(loading, () => true);
  const free = threadOf({ other: 'data' });
  const said: string[] = [];
  free.on('message', (message: string) => said.push(message));
  await once(free, 'exit');
  assert.deepEqual(said, ['begins 1', 'ends 1', 'begins 2', 'ends 2']);
});

test('devices are closed while their threads begin', async () => {
  for (let nth = 0; nth < 12; nth++) {
    const device = await openCpu({ threads: 2 });
    await new Promise((resolve) => setTimeout(resolve, 3 * nth));
    await device[Symbol.asyncDispose]();
  }
});

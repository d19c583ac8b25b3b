import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { endsLoading, loadingThread } from '../../src/node/native-loading.ts';
import { openCpu } from '../../src/node/open-cpu.ts';
import { PROJECT_ROOT } from '../support/project.ts';

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

test('a call inside another is made though the thread is to be ended in between', async () => {
  const text = `
    const { parentPort, workerData } = require('node:worker_threads');
    import(${JSON.stringify(MODULE)}).then(({ natively }) => {
      natively(() => {
        parentPort.postMessage('within');
        const [own] = workerData.nativeLoading;
        while (Atomics.load(own, 0) === 1);
        natively(() => parentPort.postMessage('inside'));
      });
    });`;
  const loading = loadingThread();
  const worker = new Worker(text, { eval: true, workerData: loading });
  const said: string[] = [];
  worker.on('message', (message: string) => said.push(message));
  await once(worker, 'message');
  const ends = endsLoading(loading, () => false);
  if (said.length < 2) await once(worker, 'message');
  await ends;
  await worker.terminate();
  assert.deepEqual(said, ['within', 'inside']);
});

test('a process whose own load is not over ends when it is told to', () => {
  const text = `
    import { loadingThread, whileLoading } from ${JSON.stringify(MODULE)};
    loadingThread();
    void whileLoading(() => new Promise(() => {}));
    process.exit(7);`;
  const { status } = spawnSync(process.execPath, ['--input-type=module', '-e', text], { timeout: 8000 });
  assert.equal(status, 7);
});

test('devices are closed while their threads begin', async () => {
  for (let nth = 0; nth < 12; nth++) {
    const device = await openCpu({ threads: 2 });
    await new Promise((resolve) => setTimeout(resolve, 3 * nth));
    await device[Symbol.asyncDispose]();
  }
});

/** A thread that opens a library and binds functions, again and again; with a depth, in a thread of its own below it. */
const BINDER = `
  const { parentPort, workerData, Worker } = require('node:worker_threads');
  import(${JSON.stringify(MODULE)}).then(async ({ importKoffi, loadingThread, natively }) => {
    if (workerData.depth > 0) {
      const below = new Worker(workerData.text, {
        eval: true,
        execArgv: [],
        workerData: { ...workerData, ...loadingThread(), depth: workerData.depth - 1 },
      });
      below.once('message', (said) => parentPort.postMessage(said));
      return;
    }
    const { default: koffi } = await importKoffi();
    parentPort.postMessage('binds');
    for (;;) natively(() => koffi.load(null).func('calloc', 'uintptr_t', ['size_t', 'size_t']));
  });`;

/** Starts such threads and ends them at any moment, the last one by its own end. */
const ENDS = `
  import { once } from 'node:events';
  import { Worker } from 'node:worker_threads';
  import { endsLoading, loadingThread } from ${JSON.stringify(MODULE)};
  const text = ${JSON.stringify(BINDER)};
  const start = async (depth) => {
    const loading = loadingThread();
    const worker = new Worker(text, { eval: true, execArgv: [], workerData: { ...loading, depth, text } });
    await once(worker, 'message');
    return { loading, worker };
  };
  for (let nth = 0; nth < 12; nth++) {
    const { loading, worker } = await start(nth % 2);
    await new Promise((resolve) => setTimeout(resolve, nth % 5));
    await endsLoading(loading, () => false);
    await worker.terminate();
  }
  const last = await start(1);
  if (process.argv[1] === 'exits') process.exit(7);
  last.worker.unref();
  process.exitCode = 7;`;

for (const how of ['exits', 'has nothing more to do']) {
  test(`a process that ${how} while its threads bind functions ends as it means to`, () => {
    const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', ENDS, how], {
      cwd: PROJECT_ROOT,
      encoding: 'utf8',
    });
    assert.deepEqual([status, stderr], [7, '']);
  });
}

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { after, test, type TestContext } from 'node:test';
import { RocmforgeError } from '../../src/base/errors.ts';
import { silentLogger } from '../../src/base/log.ts';
import type { Device } from '../../src/device/index.ts';
import { DeviceGroup } from '../../src/devices/group/index.ts';
import { loadModel } from '../../src/index.ts';
import { openDevice } from '../../src/node/devices.ts';
import type { LoadModelOptions } from '../../src/node/load-model.ts';
import { openHipCuda } from '../../src/node/open-hip-cuda.ts';
import { openWorkers } from '../../src/node/open-workers.ts';
import { childProcesses } from '../support/child-processes.ts';
import { familyPaths } from '../support/family-fixtures.ts';
import { installEmulator, NO_EMULATOR, sharedFiles } from '../support/hip-cuda/emulated-workers.ts';
import { openOn } from '../support/hip-cuda/emulated-goldens.ts';
import { HUNG_MS } from '../support/hung.ts';
import { SPLIT_ALL } from '../support/rank-devices.ts';
import { ENDLESS, startCliIn } from '../support/run-cli.ts';
import { temporaryFolder } from '../support/temporary.ts';

/** Ranks on emulated cards of two processes, whose collectives RCCL computes, and what becomes of them when one ends. */
const OPTIONS = { skip: NO_EMULATOR, timeout: HUNG_MS };
const SECRET = 'a secret of a test of ranks in several processes';
const { model: PATH } = familyPaths({ name: 'llama', sizes: {} });
const RANKS = { device: 'hip:0', link: 'nccl', workerSplit: 'tensors' } as const;
const SIZES = { context: 64, batch: 8 } as const;
const TEXT = { temperature: 0, maxTokens: 24, ignoreEnd: true } as const;

if (NO_EMULATOR === false) await installEmulator('gfx1100', 2);
after(() => assert.deepEqual(sharedFiles(), []));

async function textOf(options: LoadModelOptions): Promise<string> {
  await using model = await loadModel(PATH, { ...SIZES, ...options });
  return await model.generate([1, 40, 41, 42], TEXT).text();
}

/** The processes that this one has started for a device. */
function children(): number[] {
  return childProcesses().flatMap(({ pid, words }) => (words.includes('worker-process') ? [pid] : []));
}

let alone: Promise<string> | undefined;

/** The text of one card. */
function expectedText(): Promise<string> {
  return (alone ??= textOf({ device: 'hip:0' }));
}

for (const [what, signal] of [
  ['is killed', 'SIGKILL'],
  ['hangs', 'SIGSTOP'],
] as const) {
  test(`a text goes on with the same tokens when a rank's process ${what}`, OPTIONS, async () => {
    const expected = await expectedText();
    await using model = await loadModel(PATH, {
      ...SIZES,
      ...RANKS,
      workers: ['process=hip:1'],
      workerDeadline: 10,
    });
    const [first] = children();
    assert.ok(first !== undefined);
    let pieces = 0;
    let text = '';
    for await (const { text: piece } of model.generate([1, 40, 41, 42], TEXT)) {
      text += piece;
      if (++pieces === 5) process.kill(first, signal);
    }
    assert.equal(text, expected);
    const now = children();
    assert.ok(now.length === 1 && now[0] !== first, 'another process took its place');
  });
}

test('who waits for a rank that does not come is told why not, and can join others', OPTIONS, async () => {
  const [worker] = await openWorkers(['process=hip:1'], { request: {}, session: 'a test' });
  assert.ok(worker);
  await using own = await openHipCuda({ driver: 'hip', index: 0 });
  const gone = new RocmforgeError('DEVICE_UNAVAILABLE', { device: 'a third one', why: 'it did not come' });
  for (const [device, rank] of [
    [own, 0],
    [worker, 1],
  ] as const) {
    const id = await own.newPeerId();
    const stop = new AbortController();
    const joining = device.joinPeers({ id, rank, ranks: 3, signal: stop.signal });
    setTimeout(() => stop.abort(gone), 50);
    await assert.rejects(joining, { code: 'DEVICE_UNAVAILABLE', message: gone.message });
  }
  await assert.rejects(own.joinPeers({ id: new Uint8Array(128), rank: 0, ranks: 9 }), {
    code: 'DEVICE_UNAVAILABLE',
    message: /there are more than 8/,
  });
  await worker[Symbol.asyncDispose]();
  const [other] = await openWorkers(['process=hip:1'], { request: {}, session: 'a test' });
  assert.ok(other);
  const id = await own.newPeerId();
  const links = await Promise.all(
    [own, other].map((device, rank) => device.joinPeers({ id, rank, ranks: 2 })),
  );
  await Promise.all(links.map((link) => link[Symbol.asyncDispose]()));
  await other[Symbol.asyncDispose]();
});

/** A `rocmforge worker` of the second card. */
async function startWorker(t: TestContext): Promise<{ readonly address: string; end(): Promise<void> }> {
  const env = { ...process.env, ROCMFORGE_WORKER_SECRET: SECRET };
  const worker = startCliIn(t, env, ['worker', '-d', 'hip:1', '-m', PATH, '--port', '0', '--json']);
  const [line] = (await once(createInterface({ input: worker.process.stdout }), 'line')) as [string];
  const { address } = JSON.parse(line) as { address: string };
  return {
    address,
    end: async () => {
      worker.process.kill('SIGINT');
      const { code, stderr } = await worker.result;
      assert.deepEqual([code, stderr], [0, '']);
    },
  };
}

test(
  'a worker that listens is a rank of one program after another, and of one behind a dead one',
  OPTIONS,
  async (t) => {
    const expected = await expectedText();
    const worker = await startWorker(t);
    const use = { ...RANKS, workers: [worker.address], workerSecret: SECRET };
    assert.equal(await textOf(use), expected);
    assert.equal(await textOf(use), expected);
    const split = ['-d', 'hip:0', '--link', 'nccl', '--workers', worker.address, '--worker-split', 'tensors'];
    const args = ['run', '-m', PATH, '-c', '64', '-b', '8', '-q', '-p', 'E5', ...ENDLESS, ...split];
    const env = { ...process.env, ROCMFORGE_WORKER_SECRET: SECRET };
    const killed = startCliIn(t, env, args);
    await Promise.race([once(killed.process.stdout, 'data'), killed.result]);
    killed.process.kill('SIGKILL');
    await killed.result;
    assert.equal(await textOf(use), expected);
    await worker.end();
  },
);

/** A process for the second card that finds the driver and its compiler, but no RCCL. */
async function openWithoutLibrary(t: TestContext): Promise<Device> {
  const whole = process.env.ROCM_PATH ?? '';
  const root = temporaryFolder(t);
  mkdirSync(join(root, 'lib'));
  for (const name of ['libamdhip64.so.7', 'libhiprtc.so.7']) {
    symlinkSync(join(whole, 'lib', name), join(root, 'lib', name));
  }
  process.env.ROCM_PATH = root;
  try {
    const [worker] = await openWorkers(['process=hip:1'], { request: {}, session: 'a test' });
    return worker ?? assert.fail('it is open');
  } finally {
    process.env.ROCM_PATH = whole;
  }
}

test(
  'a rank without the library is refused where it was asked for, otherwise the host computes',
  OPTIONS,
  async (t) => {
    for (const link of ['nccl', 'peer', 'auto'] as const) {
      const own = await openHipCuda({ driver: 'hip', index: 0 });
      const lines: string[] = [];
      const info = (message: string, fields?: object) => lines.push(`${message} ${JSON.stringify(fields)}`);
      const logger = { ...silentLogger, info };
      const group = new DeviceGroup([own, await openWithoutLibrary(t)], { ...SPLIT_ALL, link, logger });
      const opening = openOn(group, PATH, { context: 64 });
      if (link !== 'auto') {
        const message =
          link === 'nccl' ? /librccl.* was not found.*Install RCCL/ : /ask for nccl, host or auto/;
        await assert.rejects(opening, { code: 'DEVICE_UNAVAILABLE', message });
      } else {
        const model = await opening;
        assert.equal(await model.generate([1, 40, 41, 42], TEXT).text(), await expectedText());
        await model.dispose();
        assert.match(lines.join('\n'), /devices are not linked .*librccl.* was not found/);
      }
      await group[Symbol.asyncDispose]();
      assert.equal(group.liveObjects(), 0);
    }
  },
);

test('two ranks on one GPU are refused', OPTIONS, async () => {
  await assert.rejects(openDevice({ ...RANKS, workers: ['process=hip:0'] }), {
    code: 'INVALID_ARGUMENT',
    message:
      /workers: found two ranks on the GPU at .*, expected another GPU for each, such as process=cuda:1/,
  });
  assert.deepEqual(children(), []);
});

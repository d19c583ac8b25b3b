import assert from 'node:assert/strict';
import { truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import { silentLogger } from '../../src/base/log.ts';
import { type Device, MemoryBudget } from '../../src/device/index.ts';
import { openReferenceDevice } from '../../src/devices/reference/index.ts';
import { F32 } from '../../src/formats/index.ts';
import { GgufFile } from '../../src/gguf/index.ts';
import { AsyncModelLoader, type LoaderOptions } from '../../src/load/async-model-loader.ts';
import { LoadTrace } from '../../src/load/load-trace.ts';
import type { WeightJob } from '../../src/load/weight-job.ts';
import { openSource } from '../../src/node/index.ts';
import { deviceWith, refuseAsDriver } from '../support/device-with.ts';
import { openMappings } from '../support/open-handles.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { tinyBytes } from '../support/tiny-model.ts';
import { arrived, expected, type JobOptions, jobsFor } from '../support/weight-jobs.ts';

const MUCH = 2 ** 30;
const bytes = await tinyBytes('Q8_0');

/** Weights of a file that come again and again, and how they are loaded. */
interface Again {
  readonly path: string;
  readonly gguf: GgufFile;
  readonly jobs: readonly WeightJob[];
  readonly trace: LoadTrace;
  readonly lines: string[];
  readonly loader: AsyncModelLoader;
  /** Loads all weights once more; gives how many chunks were read for it. */
  load(): Promise<number>;
  /** Loads until nothing more is pinned; gives how many chunks are read then. */
  settle(): Promise<number>;
}

async function again(
  t: TestContext,
  device: Device,
  { hostMemory = new MemoryBudget('host', MUCH), become, ...options }: LoaderOptions & JobOptions = {},
): Promise<Again> {
  const path = join(temporaryFolder(t), 'model.gguf');
  writeFileSync(path, bytes);
  utimesSync(path, 1, 1);
  const gguf = await GgufFile.open(await openSource(path));
  const jobs = jobsFor(gguf, device, become && { become }).map((job) => ({ ...job, comesAgain: true }));
  const trace = new LoadTrace();
  const lines: string[] = [];
  const logger = { ...silentLogger, debug: (line: string) => lines.push(line) };
  const loader = new AsyncModelLoader(device, { hostMemory, trace, logger, slotBytes: 2000, ...options });
  const rows = (kind: string) => trace.spans.filter(({ row }) => row.startsWith(kind)).length;
  const load = async () => {
    const before = rows('reader');
    await Promise.all(jobs.map((job) => loader.request(job).done));
    return rows('reader') - before;
  };
  const settle = async () => {
    await load();
    for (let quiet = 0; quiet < 20;) {
      const pinned = rows('pages');
      await load();
      await new Promise((resolve) => setImmediate(resolve));
      quiet = rows('pages') === pinned ? quiet + 1 : 0;
    }
    return load();
  };
  return { path, gguf, jobs, trace, lines, loader, load, settle };
}

/** Overwrites what loads have brought, so that the next one has to bring it. */
async function scribble(device: Device, jobs: readonly WeightJob[]): Promise<void> {
  await using stream = device.createStream('scribble');
  for (const { target } of jobs) stream.upload(new Uint8Array(target.byteLength).fill(0xa5), target);
  await stream.synchronize();
}

test('what comes again is copied from the file itself, and given back with the loader', async (t) => {
  await using device = openReferenceDevice();
  const { path, gguf, jobs, trace, loader, load, settle } = await again(t, device);
  const live = device.liveObjects();
  const chunks = await load();
  assert.ok(chunks > jobs.length);
  assert.equal(trace.rows.includes('pages'), false, 'the first time may be the only one');
  assert.equal(await settle(), 0);
  await scribble(device, jobs);
  assert.equal(await load(), 0);
  for (const job of jobs) assert.deepEqual(await arrived(device, job), await expected(job));
  const pinned = trace.spans.filter(({ row }) => row === 'pages').length;
  assert.equal(pinned, chunks);
  await loader[Symbol.asyncDispose]();
  // Less the ring and the streams, which came with the first load.
  assert.equal(device.liveObjects(), live);
  await gguf.dispose();
  assert.equal(openMappings(path) ?? 0, 0);
});

test('no more is pinned than may be, and the rest is read', async (t) => {
  for (const most of [0, 2 ** 18]) {
    const hostMemory = new MemoryBudget('host', most);
    await using device = openReferenceDevice();
    const { gguf, jobs, lines, trace, loader, load, settle } = await again(t, device, { hostMemory });
    const chunks = await load();
    const read = await settle();
    const pinned = trace.spans.filter(({ row }) => row === 'pages').length;
    assert.equal(pinned > 0 && read < chunks, most > 0);
    assert.ok(read > 0 && pinned * 2 ** 16 <= most);
    assert.equal(lines.length, most > 0 ? 1 : 0);
    await scribble(device, jobs);
    await load();
    for (const job of jobs) assert.deepEqual(await arrived(device, job), await expected(job));
    await loader[Symbol.asyncDispose]();
    assert.equal(hostMemory.info.free, most);
    await gguf.dispose();
  }
});

test('a driver that refuses is asked once, and a source without pages never', async (t) => {
  await using device = openReferenceDevice();
  let asked = 0;
  const refusing = deviceWith(device, {
    pinReadOnly: () => {
      asked++;
      return refuseAsDriver();
    },
  });
  const hostMemory = new MemoryBudget('host', MUCH);
  const { path, gguf, lines, loader, load, settle } = await again(t, refusing, { hostMemory });
  const chunks = await load();
  assert.equal(await settle(), chunks);
  assert.deepEqual([asked, lines.length], [1, 1]);
  assert.ok((openMappings(path) ?? 0) <= 1, 'what was mapped for it is given back');
  assert.equal(hostMemory.info.free, MUCH);
  for (const { source } of gguf.parts) Object.assign(source, { map: undefined });
  await using other = new AsyncModelLoader(refusing, { hostMemory });
  for (let i = 0; i < 3; i++)
    await other.load(jobsFor(gguf, device).map((job) => ({ ...job, comesAgain: true })));
  assert.equal(asked, 1);
  await loader[Symbol.asyncDispose]();
  await gguf.dispose();
});

test('what the host decodes is read', async (t) => {
  await using device = openReferenceDevice();
  const { gguf, jobs, loader, settle } = await again(t, device, { become: F32 });
  const matrices = jobs.filter(({ tensors }) => tensors[0]?.format !== F32).length;
  assert.ok((await settle()) >= matrices);
  await loader[Symbol.asyncDispose]();
  await gguf.dispose();
});

test('a file that changes under pinned pages is told of, and an abort ends a load', async (t) => {
  for (const change of [
    (path: string) => writeFileSync(path, bytes),
    (path: string) => truncateSync(path, 9),
  ]) {
    await using device = openReferenceDevice();
    const { path, gguf, jobs, loader, load, settle } = await again(t, device);
    assert.equal(await settle(), 0);
    const [job] = jobs as [WeightJob];
    const aborted = loader.request(job, { signal: AbortSignal.abort() }).done;
    await assert.rejects(aborted, (error) => isRocmforgeError(error, 'ABORTED'));
    assert.equal(await load(), 0);
    change(path);
    await assert.rejects(load(), (error) => isRocmforgeError(error, 'SOURCE_CHANGED'));
    await loader[Symbol.asyncDispose]();
    await gguf.dispose();
  }
});

test('a loader may end while pages are being pinned, and behind its file', async (t) => {
  await using device = openReferenceDevice();
  const live = device.liveObjects();
  const { path, gguf, jobs, loader, load } = await again(t, device);
  await load();
  await load();
  await gguf.dispose();
  await loader[Symbol.asyncDispose]();
  assert.equal(openMappings(path) ?? 0, 0);
  assert.equal(device.liveObjects(), live + jobs.length);
});

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
import type { LazyTensor } from '../../src/load/lazy-tensor.ts';
import { LoadTrace } from '../../src/load/load-trace.ts';
import { openSource } from '../../src/node/index.ts';
import { deviceWith, refuseAsDriver } from '../support/device-with.ts';
import { openMappings } from '../support/open-handles.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { tinyBytes } from '../support/tiny-model.ts';
import { arrived, expected, type PlacedOptions, placedTensors } from '../support/placed-tensors.ts';

const MUCH = 2 ** 30;
const bytes = await tinyBytes('Q8_0');

/** Weights of a file that come again and again, and how they are loaded. */
interface Again {
  readonly path: string;
  readonly gguf: GgufFile;
  readonly tensors: readonly LazyTensor[];
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
  { hostMemory = new MemoryBudget('host', MUCH), become, ...options }: LoaderOptions & PlacedOptions = {},
): Promise<Again> {
  const path = join(temporaryFolder(t), 'model.gguf');
  writeFileSync(path, bytes);
  utimesSync(path, 1, 1);
  const gguf = await GgufFile.open(await openSource(path));
  const tensors = placedTensors(gguf, device, become && { become });
  const trace = new LoadTrace();
  const lines: string[] = [];
  const logger = { ...silentLogger, debug: (line: string) => lines.push(line) };
  const loader = new AsyncModelLoader(device, { hostMemory, trace, logger, slotBytes: 2000, ...options });
  for (const tensor of tensors) tensor.loadBy(loader, { streamed: true });
  const rows = (kind: string) => trace.spans.filter(({ row }) => row.startsWith(kind)).length;
  const load = async () => {
    const before = rows('reader');
    await Promise.all(tensors.map((tensor) => loader.request(tensor).done));
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
  return { path, gguf, tensors, trace, lines, loader, load, settle };
}

/** Overwrites what loads have brought, so that the next one has to bring it. */
async function scribble(device: Device, tensors: readonly LazyTensor[]): Promise<void> {
  await using stream = device.createStream('scribble');
  for (const { range } of tensors) stream.upload(new Uint8Array(range.byteLength).fill(0xa5), range);
  await stream.synchronize();
}

test('what comes again is copied from the file itself, and given back with the loader', async (t) => {
  await using device = openReferenceDevice();
  const { path, gguf, tensors, trace, loader, load, settle } = await again(t, device);
  const live = device.liveObjects();
  const chunks = await load();
  assert.ok(chunks > tensors.length);
  assert.equal(trace.rows.includes('pages'), false, 'the first time may be the only one');
  assert.equal(await settle(), 0);
  await scribble(device, tensors);
  assert.equal(await load(), 0);
  for (const tensor of tensors) assert.deepEqual(await arrived(device, tensor), await expected(tensor));
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
    const { gguf, tensors, lines, trace, loader, load, settle } = await again(t, device, { hostMemory });
    const chunks = await load();
    const read = await settle();
    const pinned = trace.spans.filter(({ row }) => row === 'pages').length;
    assert.equal(pinned > 0 && read < chunks, most > 0);
    assert.ok(read > 0 && pinned * 2 ** 16 <= most);
    assert.equal(lines.length, most > 0 ? 1 : 0);
    await scribble(device, tensors);
    await load();
    for (const tensor of tensors) assert.deepEqual(await arrived(device, tensor), await expected(tensor));
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
  const tensors = placedTensors(gguf, device);
  for (const tensor of tensors) tensor.loadBy(other, { streamed: true });
  for (let i = 0; i < 3; i++) await other.load(tensors);
  assert.equal(asked, 1);
  await loader[Symbol.asyncDispose]();
  await gguf.dispose();
});

test('what the host decodes is read', async (t) => {
  await using device = openReferenceDevice();
  const { gguf, tensors, loader, settle } = await again(t, device, { become: F32 });
  const matrices = tensors.filter(({ tensors: [of] }) => of?.format !== F32).length;
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
    const { path, gguf, tensors, loader, load, settle } = await again(t, device);
    assert.equal(await settle(), 0);
    const [tensor] = tensors as [LazyTensor];
    const aborted = loader.request(tensor, { signal: AbortSignal.abort() }).done;
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
  const { path, gguf, tensors, loader, load } = await again(t, device);
  await load();
  await load();
  await gguf.dispose();
  await loader[Symbol.asyncDispose]();
  assert.equal(openMappings(path) ?? 0, 0);
  assert.equal(device.liveObjects(), live + tensors.length);
});

test('weights whose pages are all pinned are copied at once, and told of if the file changes', async (t) => {
  await using device = openReferenceDevice();
  const { path, gguf, tensors, loader, load } = await again(t, device, { trace: undefined });
  assert.equal(loader.copyPinned(tensors, []), undefined);
  let copy = loader.copyPinned(tensors, []);
  while (!copy) {
    await load();
    copy = loader.copyPinned(tensors, []);
  }
  await copy.done;
  await scribble(device, tensors);
  const { done, queued } = loader.copyPinned(tensors.slice(1), []) ?? assert.fail('its pages are pinned');
  await Promise.all(queued.map((event) => event.completed()));
  for (const tensor of tensors.slice(1))
    assert.deepEqual(await arrived(device, tensor), await expected(tensor));
  await done;
  writeFileSync(path, bytes);
  const changed = loader.copyPinned(tensors, []) ?? assert.fail('its pages are pinned');
  await changed.done;
  await assert.rejects(loader.checkUnchanged(tensors[0] as LazyTensor), (error) =>
    isRocmforgeError(error, 'SOURCE_CHANGED'),
  );
  await loader[Symbol.asyncDispose]();
  await gguf.dispose();
});

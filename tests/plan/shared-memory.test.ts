import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Device } from '../../src/device/index.ts';
import { openReferenceDevice } from '../../src/devices/reference/index.ts';
import { LanguageModel, type ModelOptions } from '../../src/engine/language-model.ts';
import { GgufFile } from '../../src/gguf/index.ts';
import { MemorySource } from '../../src/io/index.ts';
import { SharedDeviceMemory } from '../../src/load/shared-device-memory.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { openCpu } from '../../src/node/open-cpu.ts';
import { collectGarbage } from '../support/collect-garbage.ts';
import { tinyBytes } from '../support/tiny-model.ts';
import { WatchedSource } from '../support/watched-source.ts';

const FORMATS = ['Q8_0', 'F16', 'Q4_0'];
const OPTIONS: ModelOptions = { context: 32, batch: 4, sequences: 20 };
const DEVICES: readonly [string, (memory?: number) => Promise<Device>][] = [
  ['reference', async (memoryBytes) => openReferenceDevice(memoryBytes ? { memoryBytes } : {})],
  ['cpu', (memoryLimit) => openCpu({ threads: 2, ...(memoryLimit && { memoryLimit }) })],
];

interface Opened {
  readonly source: WatchedSource;
  readonly model: LanguageModel;
}

async function open(
  format: string,
  device: Device,
  sharedMemory?: SharedDeviceMemory,
  options: ModelOptions = OPTIONS,
): Promise<Opened> {
  const source = new WatchedSource(await tinyBytes(format));
  const gguf = await GgufFile.open(source);
  source.bytesRead = 0;
  const parts = { gguf, device, sharedMemory, architectures: ALL_ARCHITECTURES };
  return { source, model: await LanguageModel.open(parts, options) };
}

async function tokensOf({ model }: Opened, first = 40): Promise<number[]> {
  const ids: number[] = [];
  const stream = model.generate([1, first, 41, 42, 43], { temperature: 0, maxTokens: 5, ignoreEnd: true });
  for await (const { token } of stream) if (token) ids.push(token.id);
  return ids;
}

function weightsOf({ model }: Opened): number {
  return model.plan.weights.reduce((sum, { byteLength }) => sum + byteLength, 0);
}

for (const [name, openDevice] of DEVICES) {
  test(`models share a device's memory: the same tokens, never more bytes than there are: ${name}`, async () => {
    const expected: number[][] = [];
    let kept = 0;
    let largest = 0;
    for (const format of FORMATS) {
      const alone = await open(format, await openDevice());
      expected.push(await tokensOf(alone));
      kept += alone.model.fit.onDevice - alone.model.fit.weights;
      largest = Math.max(largest, alone.model.fit.weights);
      await alone.model.dispose();
    }
    // Room for the largest model and a bit: creating more than there is would throw.
    await using device = await openDevice(kept + Math.ceil(1.2 * largest));
    const sharedMemory = await SharedDeviceMemory.open(device);
    const opened: Opened[] = [];
    for (const format of FORMATS) opened.push(await open(format, device, sharedMemory));
    for (let round = 0; round < 2; round++) {
      for (const [i, one] of opened.entries()) assert.deepEqual(await tokensOf(one), expected[i], FORMATS[i]);
    }
    assert.ok(
      opened.every((one) => one.source.bytesRead > 1.5 * weightsOf(one)),
      'weights came and went',
    );
    // At once, they take one another's memory step by step.
    const all = await Promise.all([...opened, ...opened].map((one) => tokensOf(one)));
    assert.deepEqual(all, [...expected, ...expected]);
    assert.ok(sharedMemory.weights <= sharedMemory.room.unreserved);
    const [first] = opened as [Opened];
    for (const { model } of opened.slice(1)) await model.dispose();
    assert.deepEqual(await tokensOf(first), expected[0]);
    await first.model.dispose();
    assert.equal(sharedMemory.weights, 0);
    assert.equal(device.liveObjects(), 0);
  });
}

test('twenty requests for a model whose weights were taken cause one load', async () => {
  const probe = await open('Q8_0', openReferenceDevice());
  const { fit } = probe.model;
  await probe.model.dispose();
  await using device = openReferenceDevice();
  const sharedMemory = await SharedDeviceMemory.open(device, {
    memory: 2 * (fit.onDevice - fit.weights) + fit.weights,
  });
  const [one, other] = [await open('Q8_0', device, sharedMemory), await open('Q8_0', device, sharedMemory)];
  await one.model.loaded;
  await other.model.loaded;
  assert.ok(one.model.plan.weights.every(({ state }) => state === 'evicted'));
  one.source.bytesRead = 0;
  await Promise.all(Array.from({ length: 20 }, (_, i) => tokensOf(one, 50 + i)));
  const bytes = one.model.plan.weights.flatMap(({ tensors }) => tensors.map(({ byteLength }) => byteLength));
  assert.equal(
    one.source.bytesRead,
    bytes.reduce((sum, length) => sum + length, 0),
  );
  await one.model.dispose();
  await other.model.dispose();
  assert.equal(device.liveObjects(), 0);
});

test('steps that went with their weights need not be dropped to keep few', async () => {
  const probe = await open('Q8_0', openReferenceDevice());
  const { fit } = probe.model;
  await probe.model.dispose();
  await using device = openReferenceDevice();
  const sharedMemory = await SharedDeviceMemory.open(device, {
    memory: 2 * (fit.onDevice - fit.weights) + fit.weights,
  });
  const options = { ...OPTIONS, preparedSteps: 1 };
  const one = await open('Q8_0', device, sharedMemory, options);
  const other = await open('Q8_0', device, sharedMemory, options);
  const generated = await tokensOf(one);
  assert.deepEqual(await tokensOf(other), generated);
  // The step that generates is gone; a whole step of another kind takes its place.
  await one.model.plan.preloadAll();
  let positions = 0;
  for await (const _ of one.model.evaluate([1, 40, 41])) positions++;
  assert.equal(positions, 3);
  assert.deepEqual(await tokensOf(one), generated);
  await one.model.dispose();
  await other.model.dispose();
  assert.equal(device.liveObjects(), 0);
});

test('a weight that cannot be read leaves the others in place, and is tried again', async () => {
  await using device = openReferenceDevice();
  const sharedMemory = await SharedDeviceMemory.open(device);
  const [one, other] = [await open('Q8_0', device, sharedMemory), await open('F16', device, sharedMemory)];
  const expected = await tokensOf(one);
  await other.model.loaded;
  await tokensOf(other);
  await sharedMemory.room.reserve(sharedMemory.room.unreserved - sharedMemory.weights);
  await sharedMemory.room.reserve(weightsOf(one));
  assert.ok(one.model.plan.weights.some(({ state }) => state === 'evicted'));
  sharedMemory.room.free(weightsOf(one));
  one.source.failFrom = one.source.reads + 2;
  await assert.rejects(tokensOf(one), /test says so/);
  one.source.failFrom = undefined;
  one.model.reset();
  assert.deepEqual(await tokensOf(one), expected);
  await one.model.dispose();
  await other.model.dispose();
});

for (const [name, open] of DEVICES) {
  test(`${name}: a device that stays remembers no model that has gone`, async () => {
    await using device = await open();
    const sharedMemory = await SharedDeviceMemory.open(device);
    const life = async () => {
      const gguf = await GgufFile.open(new MemorySource(await tinyBytes('Q8_0'), 'tiny.gguf'));
      const parts = { gguf, device, sharedMemory, architectures: ALL_ARCHITECTURES };
      await using model = await LanguageModel.open(parts, OPTIONS);
      await model.generate([1, 40], { temperature: 0, maxTokens: 2, ignoreEnd: true }).text();
      return new WeakRef(model.plan);
    };
    const plans = [await life(), await life(), await life()];
    await collectGarbage();
    assert.ok(plans.filter((plan) => plan.deref() !== undefined).length <= 1);
  });
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { QueuedEvent, wholeOf, WorkQueue } from '../../src/device/index.ts';
import { DeviceGroup, DevicePipeline } from '../../src/devices/group/index.ts';
import { openReferenceDevice } from '../../src/devices/reference/index.ts';
import { openCpu } from '../../src/node/open-cpu.ts';
import { GraphBuilder, scale } from '../../src/ops/index.ts';
import { failingDevice } from '../support/failing-device.ts';
import { HUNG_MS } from '../support/hung.ts';

test(
  'work that throws at once rejects its result, and everything behind it',
  { timeout: HUNG_MS },
  async () => {
    const queue = new WorkQueue();
    const first = queue.result(() => {
      throw new RangeError('at once');
    });
    await assert.rejects(first, /at once/);
    await assert.rejects(
      queue.result(async () => 1),
      /at once/,
    );
    const event = new QueuedEvent();
    queue.reach(event, () => []);
    await assert.rejects(event.completed(), /at once/);
  },
);

test('an event that cannot be recorded fails', { timeout: HUNG_MS }, async () => {
  const queue = new WorkQueue();
  const event = new QueuedEvent();
  queue.reach(event, () => {
    throw new RangeError('no event');
  });
  await assert.rejects(event.completed(), /no event/);
  await assert.rejects(
    queue.result(async () => 1),
    /no event/,
  );
});

test('streams of which a part cannot be created leave nothing behind', async () => {
  for (const Kind of [DeviceGroup, DevicePipeline]) {
    await using first = await openCpu({ threads: 1 });
    await using last = await openCpu({ threads: 1 });
    const failing = failingDevice(last);
    await using device = new Kind([first, failing.device]);
    failing.failAt = failing.created + 1;
    assert.throws(() => device.createStream('first'), /no createStream/);
    await using second = device.createStream('second');
    await second.synchronize();
    await second[Symbol.asyncDispose]();
    assert.equal(device.liveObjects(), 0);
    failing.failAt = failing.created + 1;
    assert.throws(() => device.createStream('third'), /no createStream/);
    await device[Symbol.asyncDispose]();
    assert.equal(first.liveObjects(), 0);
  }
});

test('a pipeline and a group do not record what is bound to memory of another device', async () => {
  await using other = openReferenceDevice();
  const g = new GraphBuilder('foreign', { rows: 1, outputs: 1, slots: 1, blocksPerSlot: 1 });
  g.output('y', scale(g, g.input('x', { axis: 'rows', width: 4 }), 2));
  const program = await other.compile(g.finish());
  using buffer = other.createBuffer(4096, 'foreign');
  const range = wholeOf(buffer);
  const executable = program.bind({
    values: new Map(program.graph.inputs.map((input) => [input, range])),
    outputs: new Map([['y', range]]),
    weights: new Map(),
    scratch: range,
  });
  for (const Kind of [DeviceGroup, DevicePipeline]) {
    await using device = new Kind([openReferenceDevice(), openReferenceDevice()]);
    await assert.rejects(device.record([executable], 'foreign'), { code: 'BINDING' });
  }
});

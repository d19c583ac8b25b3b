import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Device,
  QueuedEvent,
  type Step,
  type Stream,
  wholeOf,
  WorkQueue,
} from '../../src/device/index.ts';
import { DeviceGroup, DevicePipeline } from '../../src/devices/group/index.ts';
import { openReferenceDevice } from '../../src/devices/reference/index.ts';
import { openCpu } from '../../src/node/open-cpu.ts';
import { GraphBuilder, scale } from '../../src/ops/index.ts';
import { changed } from '../support/changed.ts';
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

test('ranks of other processes are told what to record and to run before this one does', async () => {
  const order: string[] = [];
  let sent: () => void = () => {};
  const noted = (name: string, device: Device, methods: Partial<Device> = {}): Device =>
    changed<Device>(device, {
      record: (executables, label) => {
        order.push(`${name} records`);
        return device.record(executables, label);
      },
      createStream: (label) => {
        const stream = device.createStream(label);
        const run = (step: Step) => {
          order.push(`${name} runs`);
          stream.run(step);
        };
        return changed<Stream>(stream, { run });
      },
      ...methods,
    });
  let isSlow = true;
  const flushed = (): Promise<void> | undefined => {
    order.push('leaving');
    if (!isSlow) return undefined;
    return new Promise((resolve) => {
      sent = resolve;
    });
  };
  await using group = new DeviceGroup([
    noted('here', openReferenceDevice()),
    noted('elsewhere', openReferenceDevice(), { flushed }),
  ]);
  const g = new GraphBuilder('twice', { rows: 1, outputs: 1, slots: 1, blocksPerSlot: 1 });
  g.output('y', scale(g, g.input('x', { axis: 'rows', width: 4 }), 2));
  const program = await group.compile(g.finish());
  using buffer = group.createBuffer(4096, 'all');
  const at = (offset: number) => ({ buffer, offset, byteLength: 1024 });
  const executable = program.bind({
    values: new Map(program.graph.inputs.map((input) => [input, at(0)])),
    outputs: new Map([['y', at(2048)]]),
    weights: new Map(),
    scratch: at(3072),
  });
  await using stream = group.createStream('runs');
  stream.upload(new Uint8Array(1024), at(0));
  const recording = group.record([executable], 'twice');
  assert.deepEqual(order.splice(0), ['elsewhere records', 'leaving']);
  sent();
  using step = await recording;
  assert.deepEqual(order.splice(0), ['here records']);
  stream.run(step);
  assert.deepEqual(order.splice(0), ['elsewhere runs', 'leaving']);
  sent();
  await stream.synchronize();
  assert.deepEqual(order.splice(0), ['here runs']);
  isSlow = false;
  stream.run(step);
  assert.deepEqual(order.splice(0), ['elsewhere runs', 'leaving', 'here runs'], 'what has left at once');
});

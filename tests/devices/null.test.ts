import assert from 'node:assert/strict';
import { test } from 'node:test';
import { planScratch, wholeOf } from '../../src/device/index.ts';
import { openNullDevice } from '../../src/devices/null/index.ts';
import { testDeviceContract } from '../support/contract/index.ts';
import { graphOfEverything } from '../support/graph-of-everything.ts';

testDeviceContract('null', async () => openNullDevice(), {
  skip: [
    {
      reason: 'the null device keeps no contents and computes nothing',
      tests: [
        'memory contents',
        'streams order',
        'steps: a replay',
        'steps: executables',
        'packing',
        'operator',
        'isolation',
      ],
    },
  ],
});

test('downloads give zeros', async () => {
  await using device = openNullDevice();
  using buffer = device.createBuffer(256, 'nothing');
  await using stream = device.createStream('nothing');
  stream.upload(new Uint8Array(256).fill(1), wholeOf(buffer));
  const bytes = new Uint8Array(256).fill(2);
  await stream.download(wholeOf(buffer), bytes);
  assert.deepEqual(bytes, new Uint8Array(256));
});

test('programs want the scratch and the weights that a plan has to place', async () => {
  await using device = openNullDevice();
  const graph = graphOfEverything();
  const program = await device.compile(graph);
  assert.equal(program.scratchBytes, planScratch(graph).byteLength);
  assert.deepEqual(program.weights.map(({ parts, byteLength }) => [parts[0]?.name, byteLength]).slice(0, 3), [
    ['table', 100 * 36],
    ['norm', 256],
    ['q', 64 * 36],
  ]);
});

test('memory is only counted, up to what it was opened with', async () => {
  await using device = openNullDevice({ memoryBytes: 2 ** 44 });
  using _ = device.createBuffer(2 ** 43, 'huge');
  assert.deepEqual(await device.memory(), { total: 2 ** 44, free: 2 ** 43 });
  assert.throws(() => device.createBuffer(2 ** 43 + 1, 'more'), {
    code: 'OUT_OF_MEMORY',
    params: { device: 'null', what: 'more', bytes: 2 ** 43 + 1, free: 2 ** 43 },
  });
});

test('the end of a device ends everything made from it', async () => {
  const device = openNullDevice();
  const buffer = device.createBuffer(256, 'a');
  const stream = device.createStream('s');
  await device[Symbol.asyncDispose]();
  await device[Symbol.asyncDispose]();
  assert.equal(device.liveObjects(), 0);
  assert.throws(() => device.createBuffer(1, 'b'), { code: 'DISPOSED' });
  assert.throws(() => stream.upload(new Uint8Array(1), wholeOf(buffer)), { code: 'DISPOSED' });
  await assert.rejects(device.memory(), { code: 'DISPOSED' });
});

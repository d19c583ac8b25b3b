import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { asBytes } from '../../src/base/bytes.ts';
import { wholeOf } from '../../src/device/index.ts';
import { GPU_FEATURES } from '../../src/devices/webgpu/index.ts';
import { add, GraphBuilder, scale, unary } from '../../src/ops/index.ts';
import { LAYER_CASES } from '../support/contract/cases/layer.ts';
import { MATMUL_CASES } from '../support/contract/cases/matmul.ts';
import { NORM_CASES } from '../support/contract/cases/norm.ts';
import { checkCase } from '../support/contract/operators.ts';
import { EMBED_CASES } from '../support/contract/cases/embed.ts';
import { held } from '../support/model-cycles.ts';
import { NO_SOFTWARE_GPU, openSoftwareGpu } from '../support/software-gpu.ts';
import { namedLike } from '../support/named.ts';

describe('the WebGPU device', { skip: NO_SOFTWARE_GPU }, () => {
  test('computes the same without optional features', async () => {
    await using device = await openSoftwareGpu({ without: GPU_FEATURES });
    assert.equal(device.info.details.subgroup, 1);
    assert.equal(device.info.details.packedDot, false);
    const cases = [
      ...namedLike(LAYER_CASES, /^llama layer, Q8_0, f32/),
      ...NORM_CASES.slice(4, 6),
      ...namedLike(MATMUL_CASES, /^Q4_K 261 x 256, 1 rows$/),
    ];
    for (const of of cases) await checkCase(device, of, {});
  });

  test('splits matrices that are larger than a binding', async () => {
    await using device = await openSoftwareGpu({ bindingBytes: 80 << 10 });
    const cases = [
      ...namedLike(MATMUL_CASES, /^(F16|F32) 261 x 256, 1 rows/, /^Q8_0 2050 x 64/, /^Q4_0 96 x 4096/),
      ...namedLike(EMBED_CASES, /^F32 50 x 512/),
    ];
    for (const of of cases) await checkCase(device, of, {});
  });

  test('copies and uploads bytes that are no whole words, and no others', async () => {
    await using device = await openSoftwareGpu();
    using from = device.createBuffer(1024, 'from');
    using to = device.createBuffer(1024, 'to');
    await using stream = device.createStream('tails');
    stream.upload(new Uint8Array(1024).fill(7), wholeOf(from));
    stream.upload(new Uint8Array(1024).fill(1), wholeOf(to));
    stream.upload(Uint8Array.of(2, 3, 4, 5, 6), { buffer: to, offset: 256, byteLength: 5 });
    stream.copy({ buffer: from, offset: 0, byteLength: 259 }, { buffer: to, offset: 512, byteLength: 259 });
    const bytes = new Uint8Array(1024);
    await stream.download(wholeOf(to), bytes);
    const expected = new Uint8Array(1024).fill(1);
    expected.set([2, 3, 4, 5, 6], 256);
    expected.fill(7, 512, 771);
    assert.deepEqual(bytes, expected);
  });

  test('runs steps whose inputs and outputs lie in one buffer', async () => {
    await using device = await openSoftwareGpu();
    const g = new GraphBuilder('one buffer', { rows: 3, outputs: 1, slots: 1, blocksPerSlot: 1 });
    const x = g.input('x', { axis: 'rows', width: 5 });
    g.output('y', add(g, scale(g, x, 3), x));
    const graph = g.finish();
    const program = await device.compile(graph);
    using buffer = device.createBuffer(16 * 256, 'everything');
    let next = 0;
    const range = () => ({ buffer, offset: 256 * next++, byteLength: 256 });
    const values = new Map(graph.inputs.map((tensor) => [tensor, range()]));
    const y = range();
    const executable = program.bind({
      values,
      outputs: new Map([['y', y]]),
      weights: new Map(),
      scratch: range(),
    });
    using step = await device.record([executable], 'one buffer');
    await using stream = device.createStream('one buffer');
    const given = Float32Array.from({ length: 10 }, (_, i) => i - 4);
    stream.upload(asBytes(Int32Array.of(2, 0)), values.get(graph.batch.counts) ?? y);
    stream.upload(asBytes(given), values.get(x) ?? y);
    stream.run(step);
    const bytes = new Uint8Array(40);
    await stream.download(y, bytes);
    assert.deepEqual(
      [...new Float32Array(bytes.buffer)],
      [...given].map((value) => 4 * value),
    );
  });

  test('says how long each dispatch of a step took, where the GPU does', async () => {
    const g = new GraphBuilder('two launches', { rows: 3, outputs: 1, slots: 1, blocksPerSlot: 1 });
    const x = g.input('x', { axis: 'rows', width: 8 });
    const scaled = scale(g, x, 3);
    // Given out, so that the two are not computed as one.
    g.output('scaled', scaled);
    g.output('y', unary(g, 'gelu', scaled));
    const graph = g.finish();
    for (const without of [[], ['timestamps']] as const) {
      await using device = await openSoftwareGpu({ without });
      const program = await device.compile(graph);
      using buffer = device.createBuffer(64 << 10, 'everything');
      const range = (at: number) => ({ buffer, offset: at << 10, byteLength: 1 << 10 });
      const values = new Map(graph.inputs.map((tensor, i) => [tensor, range(i)]));
      const outputs = new Map([
        ['scaled', range(19)],
        ['y', range(20)],
      ]);
      const executable = program.bind({ values, outputs, weights: new Map(), scratch: range(21) });
      using step = await device.record([executable], 'two launches');
      const times = await device.timeDispatches(step);
      if (!device.target.timestamps) assert.equal(times, undefined);
      else {
        assert.deepEqual(
          times?.map(({ name }) => name),
          ['scale', 'gelu'],
        );
        assert.ok(times.every(({ nanoseconds }) => nanoseconds > 0 && nanoseconds < 60e9));
      }
    }
  });

  test('pinned memory for weights is another view after each use', async () => {
    await using device = await openSoftwareGpu();
    using pinned = device.createPinned(4096, 'slot', 'weights');
    using target = device.createBuffer(4096, 'target');
    await using stream = device.createStream('pinned');
    const views = new Set<Uint8Array>();
    for (const value of [3, 5]) {
      const { bytes } = pinned;
      assert.equal(pinned.bytes, bytes);
      assert.equal(bytes.byteLength, 4096);
      views.add(bytes.fill(value));
      stream.upload(bytes, wholeOf(target));
      assert.throws(() => pinned.bytes, { code: 'BINDING' }, 'the device copies from it');
      await stream.synchronize();
      assert.equal(bytes.byteLength, 0, 'a view that is not to be written any more');
      const found = new Uint8Array(4096);
      await stream.download(wholeOf(target), found);
      assert.ok(found.every((byte) => byte === value));
    }
    assert.equal(views.size, 2);
  });

  test('memory that is not there is a typed error, at once or when a step is recorded', async () => {
    await using device = await openSoftwareGpu({ memoryBytes: 1 << 20 });
    using _ = device.createBuffer(1 << 19, 'half');
    assert.throws(() => device.createBuffer((1 << 19) + 1, 'more'), { code: 'OUT_OF_MEMORY' });
    assert.equal(device.liveObjects(), 1);
  });

  test('a lost device ends what waits for it and what comes after', async () => {
    await using device = await openSoftwareGpu();
    using buffer = device.createBuffer(4096, 'lost');
    await using stream = device.createStream('lost');
    stream.upload(new Uint8Array(4096), wholeOf(buffer));
    const waiting = stream.download(wholeOf(buffer), new Uint8Array(4096));
    device.lose();
    await assert.rejects(waiting, { code: 'DEVICE_LOST' });
    assert.equal((await device.lost).name, 'RocmforgeError');
    await assert.rejects(stream.synchronize(), { code: 'DEVICE_LOST' });
    await assert.rejects(device.record([], 'after'), { code: 'DEVICE_LOST' });
  });

  test('an adapter that there is not is refused', async () => {
    await assert.rejects(openSoftwareGpu({ index: 9 }), { code: 'DEVICE_UNAVAILABLE' });
    await assert.rejects(openSoftwareGpu({ software: false }), { code: 'DEVICE_UNAVAILABLE' });
  });

  test('devices that came and went leave nothing to the process', async () => {
    const cycle = async () => {
      await using device = await openSoftwareGpu();
      using _ = device.createBuffer(256, 'buffer');
    };
    await cycle();
    const { threads, descriptors } = await held();
    for (let i = 0; i < 4; i++) await cycle();
    const { mebibytes: _, ...after } = await held();
    assert.deepEqual(after, { threads, descriptors });
  });
});

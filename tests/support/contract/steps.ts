import assert from 'node:assert/strict';
import { asBytes } from '../../../src/base/bytes.ts';
import {
  type Bindings,
  BUFFER_ALIGNMENT,
  type BufferRange,
  type Device,
  type DeviceBuffer,
  type Program,
} from '../../../src/device/index.ts';
import { add, GraphBuilder, mul, scale, type Tensor } from '../../../src/ops/index.ts';
import { type ContractContext, contractTest } from './contract-context.ts';

const ROWS = 3;
const WIDTH = 5;
const BYTES = ROWS * WIDTH * 4;

/** y = (x * 3 + x) * x, which needs scratch memory. */
function polynomial() {
  const g = new GraphBuilder('polynomial', { rows: ROWS, outputs: 1, slots: 1, blocksPerSlot: 1 });
  const x = g.input('x', { axis: 'rows', width: WIDTH });
  g.output('y', mul(g, add(g, scale(g, x, 3), x), x));
  return { graph: g.finish(), x };
}

function values(first: number): Float32Array {
  return Float32Array.from({ length: ROWS * WIDTH }, (_, i) => first + i);
}

/** Ranges of 256 bytes in separate buffers, bound to `polynomial`'s values. */
class Workspace implements Disposable {
  readonly #buffers: DeviceBuffer[] = [];
  readonly #device: Device;

  constructor(device: Device) {
    this.#device = device;
  }

  range(byteLength = BUFFER_ALIGNMENT): BufferRange {
    const buffer = this.#device.createBuffer(byteLength, 'steps');
    this.#buffers.push(buffer);
    return { buffer, offset: 0, byteLength };
  }

  bindings(
    program: Program,
    x: Tensor,
    of: { x: BufferRange; y: BufferRange; counts: BufferRange },
  ): Bindings {
    const { graph } = program;
    return {
      values: new Map(
        graph.inputs.map((tensor) => {
          if (tensor === x) return [tensor, of.x];
          return [tensor, tensor === graph.batch.counts ? of.counts : this.range()];
        }),
      ),
      outputs: new Map([['y', of.y]]),
      weights: new Map(),
      scratch: program.scratchBytes > 0 ? this.range(program.scratchBytes) : undefined,
    };
  }

  [Symbol.dispose](): void {
    for (const buffer of this.#buffers) buffer[Symbol.dispose]();
  }
}

async function floatsOf(stream: ReturnType<Device['createStream']>, range: BufferRange): Promise<number[]> {
  const bytes = new Uint8Array(BYTES);
  await stream.download(range, bytes);
  return [...new Float32Array(bytes.buffer)];
}

const expected = (x: Float32Array) => [...x.map((value) => 4 * value * value)];

/** Steps are captured once and replayed over the current contents of their memory. */
export function testSteps(context: ContractContext): void {
  contractTest(context, 'steps: a replay sees what was uploaded before it', async () => {
    const device = context.device();
    const { graph, x } = polynomial();
    const program = await device.compile(graph);
    using space = new Workspace(device);
    const ranges = { x: space.range(), y: space.range(), counts: space.range() };
    const executable = program.bind(space.bindings(program, x, ranges));
    await using stream = device.createStream('steps');
    using step = await device.record([executable], 'replay');
    stream.upload(asBytes(Int32Array.of(ROWS, 0)), ranges.counts);
    const results: Promise<number[]>[] = [];
    for (const first of [1, 20, -7]) {
      stream.upload(asBytes(values(first)), ranges.x);
      stream.run(step);
      results.push(floatsOf(stream, ranges.y));
    }
    assert.deepEqual(
      await Promise.all(results),
      [1, 20, -7].map((first) => expected(values(first))),
    );
  });

  contractTest(context, 'steps: executables run in order, one program bound several times', async () => {
    const device = context.device();
    const { graph, x } = polynomial();
    const program = await device.compile(graph);
    using space = new Workspace(device);
    const counts = space.range();
    const chain = [space.range(), space.range(), space.range()];
    const executables = [0, 1].map((i) => {
      const [from, to] = [chain[i], chain[i + 1]];
      assert.ok(from && to);
      return program.bind(space.bindings(program, x, { x: from, y: to, counts }));
    });
    await using stream = device.createStream('steps');
    using step = await device.record(executables, 'chain');
    const [first, , last] = chain;
    assert.ok(first && last);
    stream.upload(asBytes(Int32Array.of(ROWS, 0)), counts);
    stream.upload(asBytes(values(1)), first);
    stream.run(step);
    const once = Float32Array.from(expected(values(1)));
    assert.deepEqual(await floatsOf(stream, last), expected(once));
  });

  contractTest(context, 'steps: a step counts as alive until it is disposed', async () => {
    const device = context.device();
    const before = device.liveObjects();
    const step = await device.record([], 'empty');
    assert.equal(device.liveObjects(), before + 1);
    await using stream = device.createStream('steps');
    stream.run(step);
    await stream.synchronize();
    step[Symbol.dispose]();
    assert.equal(device.liveObjects(), before + 1);
  });
}

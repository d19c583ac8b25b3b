import assert from 'node:assert/strict';
import {
  type Bindings,
  type BufferRange,
  type Device,
  type Program,
  wholeOf,
} from '../../../src/device/index.ts';
import { F32 } from '../../../src/formats/index.ts';
import { add, type BatchShape, GraphBuilder, matmul, type Tensor } from '../../../src/ops/index.ts';
import { type ContractContext, contractTest } from './contract-context.ts';

const SHAPE: BatchShape = { rows: 4, outputs: 2, slots: 2, blocksPerSlot: 1 };

/** y = x W + x, four wide. */
function sampleGraph() {
  const g = new GraphBuilder('bindings', SHAPE);
  const x = g.input('x', { axis: 'rows', width: 4 });
  g.output('y', add(g, matmul(g, x, g.weight('w', F32, 4, 4)), x));
  return { graph: g.finish(), x };
}

/** A buffer for all values, with a range of 4 KiB for each. */
function bindAll(device: Device, program: Program) {
  const { graph } = program;
  const wanted = graph.inputs.length + graph.outputs.length + program.weights.length + 1;
  const room = 4096 + Math.ceil(program.scratchBytes / 4096) * 4096;
  const buffer = device.createBuffer(wanted * room, 'bindings');
  let next = 0;
  const range = (): BufferRange => ({ buffer, offset: room * next++, byteLength: room });
  const bindings = {
    values: new Map(graph.inputs.map((tensor) => [tensor, range()])),
    outputs: new Map(graph.outputs.map(({ name }) => [name, range()])),
    weights: new Map(program.weights.map((weight) => [weight, range()])),
    scratch: range(),
  };
  return { buffer, bindings };
}

function withInput(bindings: Bindings, x: Tensor, range: BufferRange): Bindings {
  return { ...bindings, values: new Map([...bindings.values, [x, range]]) };
}

/** What `bind`, `record` and `run` must refuse. */
export function testBindings(context: ContractContext): void {
  contractTest(context, 'bindings: what is missing, too small, unaligned or outside is refused', async () => {
    const device = context.device();
    const { graph, x } = sampleGraph();
    const program = await device.compile(graph);
    const { buffer, bindings } = bindAll(device, program);
    using _ = buffer;
    program.bind(bindings);
    const refused = (wrong: Bindings) => {
      assert.throws(() => program.bind(wrong), { code: 'BINDING' });
    };
    refused({ ...bindings, values: new Map([...bindings.values].filter(([value]) => value !== x)) });
    refused({ ...bindings, outputs: new Map() });
    refused({ ...bindings, weights: new Map() });
    if (program.scratchBytes > 0) refused({ ...bindings, scratch: undefined });
    refused(withInput(bindings, x, { buffer, offset: 0, byteLength: 60 }));
    refused(withInput(bindings, x, { buffer, offset: 16, byteLength: 64 }));
    refused(withInput(bindings, x, { buffer, offset: buffer.byteLength, byteLength: 64 }));
    refused(withInput(bindings, x, { buffer, offset: buffer.byteLength - 256, byteLength: 512 }));
  });

  contractTest(context, 'bindings: disposed memory and disposed steps are refused', async () => {
    const device = context.device();
    const { graph, x } = sampleGraph();
    const program = await device.compile(graph);
    const { buffer, bindings } = bindAll(device, program);
    using _ = buffer;
    const gone = device.createBuffer(256, 'gone');
    gone[Symbol.dispose]();
    assert.throws(() => program.bind(withInput(bindings, x, wholeOf(gone))), { code: 'DISPOSED' });
    await using stream = device.createStream('bindings');
    const step = await device.record([program.bind(bindings)], 'step');
    step[Symbol.dispose]();
    step[Symbol.dispose]();
    assert.throws(() => stream.run(step), { code: 'DISPOSED' });
  });

  contractTest(context, 'bindings: what is bound to memory that is gone is not recorded', async () => {
    const device = context.device();
    const before = device.liveObjects();
    const program = await device.compile(sampleGraph().graph);
    const { buffer, bindings } = bindAll(device, program);
    const executable = program.bind(bindings);
    buffer[Symbol.dispose]();
    await assert.rejects(device.record([executable], 'late'), { code: 'DISPOSED' });
    assert.equal(device.liveObjects(), before);
  });

  contractTest(context, 'bindings: every weight of a graph is part of a packed weight', async () => {
    const device = context.device();
    const { graph } = sampleGraph();
    const program = await device.compile(graph);
    const named = new Set(program.weights.flatMap((weight) => weight.parts));
    assert.deepEqual(
      graph.weights.filter((weight) => !named.has(weight)),
      [],
    );
    for (const weight of program.weights) {
      assert.ok(weight.byteLength > 0 && weight.layout.length > 0 && weight.rowAlignment >= 1);
    }
  });
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fail } from '../../../src/base/errors.ts';
import { applyByKind } from '../../../src/base/kind-table.ts';
import { type Bindings, bytesOf, HostDevice } from '../../../src/device/index.ts';
import { Frame } from '../../../src/devices/reference/frame.ts';
import { RUN_OPS } from '../../../src/devices/reference/run-ops.ts';
import { F32 } from '../../../src/formats/index.ts';
import { type GraphBuilder, kvAppend, matmul, type State, type Tensor } from '../../../src/ops/index.ts';
import type { OpCase } from './op-case.ts';
import { checkCase } from './operators.ts';
import { mixedBatch } from './ragged-batch.ts';

const WIDTH = 8;

const subject: OpCase = {
  op: 'layer',
  name: 'something to get wrong',
  batch: mixedBatch(),
  record: (g: GraphBuilder) => {
    const x = g.input('x', { axis: 'rows', width: WIDTH });
    const cells = mixedBatch().cells;
    const cache = {
      keys: g.state('k', 'f32', cells, WIDTH),
      values: g.state('v', 'f32', cells, WIDTH),
      blocks: g.batch.blocks,
      blockSize: 4,
    };
    kvAppend(g, cache, x, x);
    return { y: matmul(g, x, g.weight('w', F32, WIDTH, WIDTH)) };
  },
};

/** What a run did, for a fault to be put in. */
class Damage {
  readonly #bindings: Bindings;

  constructor(bindings: Bindings) {
    this.#bindings = bindings;
  }

  get output() {
    const range = this.#bindings.outputs.get('y');
    assert.ok(range);
    return range;
  }

  value(name: string) {
    const entry = [...this.#bindings.values].find(
      ([value]: [Tensor | State, unknown]) => value.name === name,
    );
    assert.ok(entry);
    return entry[1];
  }

  get weight() {
    const [range] = this.#bindings.weights.values();
    assert.ok(range);
    return range;
  }

  floats(range: Damage['output'], extra = 0): Float32Array {
    const bytes = bytesOf({ ...range, byteLength: range.byteLength + extra });
    return new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
  }
}

/** The reference device with a fault behind every run. */
function faultyDevice(fault: (damage: Damage) => void): HostDevice {
  return new HostDevice({
    info: { backend: 'faulty', name: 'Faulty', details: {} },
    memoryBytes: 2 ** 28,
    allocate: (byteLength) => new Uint8Array(byteLength),
    moves: {
      upload: (source, target) => bytesOf(target).set(source),
      copy: (source, target) => bytesOf(target).set(bytesOf(source)),
      download: (source, into) => into.set(bytesOf(source).subarray(0, into.byteLength)),
      pack: (_weight, { firstRow, rowCount }, { pinned, offset }, target) => {
        const rows = pinned.bytes.subarray(offset, offset + rowCount * WIDTH * 4);
        bytesOf(target).set(rows, firstRow * WIDTH * 4);
      },
    },
    compile: (graph) => ({
      scratchBytes: 0,
      prepare: (program, bindings) => () => {
        const frame = new Frame(program, bindings);
        for (const op of graph.ops) applyByKind(RUN_OPS, op, frame);
        fault(new Damage(bindings));
      },
    }),
  });
}

function set(floats: Float32Array, at: number, value: number): void {
  floats[at < 0 ? floats.length + at : at] = value;
}

const faults: Readonly<Record<string, [RegExp, (damage: Damage) => void]>> = {
  'a value beside an output': [/y: byte \d+ beside the range/, (d) => set(d.floats(d.output, 4), -1, 0)],
  'a row beyond those in use': [/rows beyond those in use/, (d) => set(d.floats(d.output), -1, 0)],
  'a changed input': [/x was changed/, (d) => set(d.floats(d.value('x')), 3, 0)],
  'a changed weight': [/weight w was changed/, (d) => set(d.floats(d.weight), 3, 0)],
  'a value left out': [/element 5 is NaN/, (d) => set(d.floats(d.output), 5, Number.NaN)],
  'one wrong value': [/normalized squared error|further than/, (d) => set(d.floats(d.output), 5, 0)],
  'a value read from beside an input': [
    /element 5 is NaN/,
    (d) => set(d.floats(d.output), 5, (d.floats(d.value('x'), 4).at(-1) ?? 0) + 1),
  ],
  'a value read a tile behind an input': [
    /element 5 is NaN/,
    (d) => set(d.floats(d.output), 5, (d.floats(d.value('x'), 8192).at(-1) ?? 0) + 1),
  ],
  'values a little off': [
    /normalized squared error/,
    (d) => {
      const y = d.floats(d.output);
      y.set(y.map((value) => value * 1.0001));
    },
  ],
  'a cell of nobody': [
    /k: row \d+ was changed/,
    (d) => {
      const keys = d.floats(d.value('k'));
      const row = mixedBatch().blocks.flat();
      const free =
        Array.from({ length: keys.length / WIDTH / 4 }, (_, i) => i).find((i) => !row.includes(i)) ?? 0;
      set(keys, free * 4 * WIDTH, 1);
    },
  ],
};

test('a right device passes', async () => {
  await using device = faultyDevice(() => {});
  await checkCase(device, subject, {});
});

for (const [name, [message, fault]] of Object.entries(faults)) {
  test(`the suite sees ${name}`, async () => {
    await using device = faultyDevice(fault);
    await assert.rejects(checkCase(device, subject, {}), (error: Error) => {
      const text = `${error.message} ${String((error as { actual?: unknown }).actual)}`;
      assert.match(text, message);
      return true;
    });
  });
}

const tests = ['operator layer: something'];

test('a relaxed test allows more', async () => {
  await using device = faultyDevice((damage) => {
    const y = damage.floats(damage.output);
    y.set(y.map((value) => value * 1.0001));
  });
  await checkCase(device, subject, { relax: [{ reason: 'rounding', tests, nmse: 1e-7 }] });
});

test('what a device does not support it has to refuse', async () => {
  const options = { unsupported: [{ reason: 'no such kernel', tests }] };
  await using device = faultyDevice(() => {});
  await assert.rejects(checkCase(device, subject, options), /Missing expected rejection/);
  const refusing = {
    compile: async () => fail('OP_UNSUPPORTED', { device: 'refusing', op: 'matmul', why: 'no such kernel' }),
  };
  await checkCase(
    Object.assign(
      faultyDevice(() => {}),
      refusing,
    ),
    subject,
    options,
  );
});

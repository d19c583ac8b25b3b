import assert from 'node:assert/strict';
import { wholeOf } from '../../../src/device/index.ts';
import { Q4_0, Q8_0, type TensorFormat } from '../../../src/formats/index.ts';
import { GraphBuilder, matmul } from '../../../src/ops/index.ts';
import { caseData } from './case-data.ts';
import { PACKING_CASES } from './cases/index.ts';
import { type ContractContext, contractTest, skipsGroup } from './contract-context.ts';
import type { OpCase } from './op-case.ts';
import { runCase } from './run-case.ts';
import { caseGraph } from '../hip-cuda/lowered-modules.ts';

/** The name of a packing test. */
export function packingTestName(of: OpCase): string {
  return `packing: ${of.name}`;
}

/** The cases with matrices of the same formats as an earlier one's, which where kernels take long to compile stands for them. */
export const PACKED_ALIKE: readonly OpCase[] = PACKING_CASES.filter(
  (of, at) => PACKING_CASES.findIndex((other) => packedAs(other) === packedAs(of)) < at,
);

function packedAs(of: OpCase): string {
  const matrices = caseGraph(of).weights.filter(({ rows }) => rows > 1);
  return [of.op, ...new Set(matrices.map(({ format }) => format.name))].join();
}

/** Weights may arrive in pieces, in any order, from any place in pinned memory. */
export function testPacking(context: ContractContext): void {
  if (skipsGroup(context, 'packing')) return;
  for (const of of PACKING_CASES) {
    contractTest(context, packingTestName(of), async () => {
      const data = caseData(of);
      const whole = await runCase(context.device(), data, 'whole');
      const pieces = await runCase(context.device(), data, 'pieces');
      assert.deepEqual(pieces.outputs, whole.outputs);
      assert.deepEqual(pieces.violations, []);
    });
  }
  testForeignFormat(context);
}

function testForeignFormat(context: ContractContext): void {
  contractTest(context, 'packing: rows in a format that the device does not decode are refused', async () => {
    const device = context.device();
    const g = new GraphBuilder('packing', { rows: 1, outputs: 1, slots: 1, blocksPerSlot: 1 });
    const x = g.input('x', { axis: 'rows', width: 256 });
    g.output('y', matmul(g, x, g.weight('matrix', Q8_0, 8, 256)));
    const [weight] = (await device.compile(g.finish())).weights;
    assert.ok(weight);
    assert.ok(!(await device.readyToDecode?.(weight, 0, Q4_0)));
    using target = device.createBuffer(weight.byteLength, 'packed');
    using pinned = device.createPinned(4096, 'rows');
    await using stream = device.createStream('packing');
    const pack = (format: TensorFormat) =>
      stream.pack(
        weight,
        { part: 0, firstRow: 0, rowCount: 8, format },
        { pinned, offset: 0 },
        wholeOf(target),
      );
    assert.throws(() => pack(Q4_0), { code: 'BINDING' });
    pack(Q8_0);
    await stream.synchronize();
  });
}

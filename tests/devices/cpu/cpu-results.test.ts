import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Device } from '../../../src/device/index.ts';
import { F32, Q4_K, Q8_0 } from '../../../src/formats/index.ts';
import { type NodeCpuOptions, openCpu } from '../../../src/node/open-cpu.ts';
import { type GraphBuilder, matmul } from '../../../src/ops/index.ts';
import { caseData } from '../../support/contract/case-data.ts';
import { EXPERT_CASES } from '../../support/contract/cases/experts.ts';
import { LAYER_CASES } from '../../support/contract/cases/layer.ts';
import { MATMUL_CASES } from '../../support/contract/cases/matmul.ts';
import { STATE_SPACE_CASES } from '../../support/contract/cases/state-space.ts';
import type { Elements, OpCase } from '../../support/contract/op-case.ts';
import { plainBatch } from '../../support/contract/ragged-batch.ts';
import { runCase } from '../../support/contract/run-case.ts';
import { nativeHere } from '../../support/native-kernels.ts';
import { seededRandom } from '../../support/random.ts';
import { namedLike } from '../../support/named.ts';

const OTHERS: readonly NodeCpuOptions[] = [
  { threads: 2 },
  { threads: 3 },
  { threads: 2, cpuKernels: 'wasm' },
  { threads: 2, cpuKernels: 'wasm', relaxed: false },
  { threads: 2, spread: 2 },
  { threads: 2, spread: 3, cpuKernels: 'wasm' },
];

/** Of a matrix that WebAssembly's kernels get from another bank in several pieces a chunk. */
const WIDE_PRODUCT: OpCase = {
  op: 'matmul',
  name: 'F32 513 x 8192, 20 rows',
  batch: plainBatch(20),
  record: (g: GraphBuilder) => ({
    y: matmul(g, g.input('x', { axis: 'rows', width: 8192 }), g.weight('w', F32, 513, 8192)),
  }),
  fill: { x: seeded(1), w: seeded(2) },
};

/** Products with experts, all of which are in the device's own memory. */
const EXPERTS = EXPERT_CASES.filter(({ op, name }) => op === 'matmulExperts' && !name.includes('copies'));

/** The same numbers for any number of them. */
function seeded(seed: number): (elements: Elements) => void {
  return (elements) => {
    const random = seededRandom(seed);
    for (let i = 0; i < elements.length; i++) elements[i] = random() - 0.5;
  };
}

const { offers } = await nativeHere();
const natives = offers
  .slice(1)
  .map(({ build }): NodeCpuOptions => ({ threads: 2, cpuKernels: 'native', variant: build.variant }));
const others = [...OTHERS, ...natives];

describe('results of the CPU device', () => {
  const devices: Device[] = [];
  before(async () => {
    for (const options of [{ threads: 1 }, ...others]) devices.push(await openCpu(options));
  });
  after(async () => {
    for (const device of devices) await device[Symbol.asyncDispose]();
  });

  const chunked = namedLike(STATE_SPACE_CASES, /^borders/);
  const products = [WIDE_PRODUCT, ...MATMUL_CASES.slice(0, 12), ...EXPERTS];
  for (const of of [...LAYER_CASES, ...products, ...chunked]) {
    test(`are the same bits for any threads, kernels and banks: ${of.name}`, async () => {
      const data = caseData(of);
      const [first, ...rest] = await Promise.all(devices.map((device) => runCase(device, data)));
      for (const [i, other] of rest.entries()) {
        assert.deepEqual(other.outputs, first?.outputs, JSON.stringify(others[i]));
        assert.deepEqual(other.states, first?.states, JSON.stringify(others[i]));
      }
    });
  }

  for (const format of [Q4_K, Q8_0]) {
    test(`are the same bits for any number of rows: ${format.name}`, async () => {
      const [device] = devices;
      assert.ok(device);
      const rowsOf = async (count: number) => {
        const data = caseData({
          op: 'matmul',
          name: 'rows',
          batch: plainBatch(count),
          record: (g: GraphBuilder) => ({
            y: matmul(g, g.input('x', { axis: 'rows', width: 256 }), g.weight('w', format, 37, 256)),
          }),
          fill: { x: seeded(1), w: seeded(2) },
        });
        const { outputs } = await runCase(device, data);
        return outputs.get('y') ?? new Uint8Array();
      };
      const most = await rowsOf(13);
      for (const count of [1, 2, 3, 4, 5, 8]) {
        const bytes = count * 37 * 4;
        assert.deepEqual((await rowsOf(count)).subarray(0, bytes), most.subarray(0, bytes), `${count} rows`);
      }
    });
  }
});

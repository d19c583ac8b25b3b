import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Device } from '../../src/device/index.ts';
import { Q4_0 } from '../../src/formats/index.ts';
import { loadLargePages } from '../../src/node/large-pages.ts';
import { openCpu } from '../../src/node/open-cpu.ts';
import { type GraphBuilder, matmul } from '../../src/ops/index.ts';
import { caseData } from '../support/contract/case-data.ts';
import { plainBatch } from '../support/contract/ragged-batch.ts';
import { runCase } from '../support/contract/run-case.ts';

const SYSTEM = '/sys/kernel/mm/transparent_hugepage/enabled';

const skip = !existsSync(SYSTEM)
  ? 'the system has no large pages to ask for'
  : (await loadLargePages()) === undefined && 'koffi is not installed';

/** KiB of this process for which large pages were asked. */
function advised(): number {
  const regions = readFileSync('/proc/self/smaps', 'latin1').split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m);
  const asking = regions.filter((region) => /^VmFlags:.* hg\b/m.test(region));
  return asking.reduce((sum, region) => sum + Number(/^Size: +(\d+) kB/m.exec(region)?.[1]), 0);
}

/** Multiplies by a weight of 512 x 2048, 576 KiB, which stays in memory until the device is disposed. */
async function multiply(device: Device): Promise<void> {
  const data = caseData({
    op: 'matmul',
    name: 'large pages',
    batch: plainBatch(1),
    record: (g: GraphBuilder) => ({
      y: matmul(g, g.input('x', { axis: 'rows', width: 2048 }), g.weight('w', Q4_0, 512, 2048)),
    }),
    fill: {},
  });
  await runCase(device, data);
}

test('weights are kept in large pages where the system gives them to those who ask', { skip }, async () => {
  const before = advised();
  await using plain = await openCpu({ threads: 1, cpuKernels: 'wasm' });
  await multiply(plain);
  assert.equal(advised(), before);
  await using device = await openCpu({ threads: 1 });
  await multiply(device);
  const more = advised() - before;
  // The weight, rounded outwards, and nothing else of the device's memory.
  assert.ok(more >= 576 && more < 1024, `${more} KiB`);
});

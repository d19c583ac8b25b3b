// Compares kernels with tiles with those of WebAssembly: `run-tiles.js <library of kernels> <library of tiles.cpp, preloaded>`. Prints
// how often a thread gave tiles their shapes.
import assert from 'node:assert/strict';
import { openCpuDevice } from '../../../src/devices/cpu/index.ts';
import { loadKoffiFfi } from '../../../src/node/koffi-ffi.ts';
import { kernelBytes, openCpu } from '../../../src/node/open-cpu.ts';
import { nodeWorkerHost } from '../../../src/node/worker-host.ts';
import { caseData } from '../contract/case-data.ts';
import { EXPERT_CASES, REFUSE_COPIES } from '../contract/cases/experts.ts';
import { LAYER_CASES } from '../contract/cases/layer.ts';
import { MATMUL_CASES } from '../contract/cases/matmul.ts';
import { selected } from '../contract/contract-options.ts';
import { runCase } from '../contract/run-case.ts';

const [path = '', preloaded = ''] = process.argv.slice(2);
const ffi = await loadKoffiFfi();
// All of its kernels are compared when it is opened.
await using tiled = await openCpuDevice({
  host: nodeWorkerHost(new URL('../../../src/bin/cpu-worker.js', import.meta.url), 2),
  kernels: await kernelBytes(),
  native: { build: { variant: 'tiles', path }, ffi, required: true },
});
await using plain = await openCpu({ threads: 2, cpuKernels: 'wasm' });
const experts = EXPERT_CASES.filter(({ name }) => !selected([REFUSE_COPIES], name));
for (const of of [...MATMUL_CASES, ...experts, ...LAYER_CASES]) {
  const data = caseData(of);
  const [expected, found] = [await runCase(plain, data), await runCase(tiled, data)];
  assert.deepEqual(found.outputs, expected.outputs, of.name);
}
console.log(ffi.open([preloaded]).bind('tile_configurations', 'u32', [])());

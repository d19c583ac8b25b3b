import { DeviceGroup } from '../../src/devices/group/index.ts';
import { openCpu } from '../../src/node/open-cpu.ts';
import { openWorkers } from '../../src/node/open-workers.ts';
import { testGoldensOf } from '../support/family-tests.ts';
import { onOneDevice, SPLIT_ALL } from '../support/rank-devices.ts';
import { familiesNamed } from '../support/named.ts';

/** A family of each way to split: heads, experts, latent attention, recurrences. */
const FAMILIES = ['llama', 'qwen3moe', 'gpt-oss', 'deepseek2', 'qwen35', 'mamba', 'rwkv7'];

const CPU = { threads: 1, cpuKernels: 'wasm' } as const;

/** A rank here and one in a process of its own: the host computes what they have in common, over the connection. */
const device = {
  name: 'CPU devices of two processes',
  open: onOneDevice(async () => {
    const [own, workers] = await Promise.all([
      openCpu(CPU),
      openWorkers(['process=cpu'], { request: CPU, session: 'a test' }),
    ]);
    return new DeviceGroup([own, ...workers], SPLIT_ALL);
  }),
};

testGoldensOf(familiesNamed(FAMILIES), device);

import type { DevicePipeline } from '../../src/devices/group/index.ts';
import { openDevice } from '../../src/node/devices.ts';
import { testGoldensOf } from '../support/family-tests.ts';
import { testPromptChunks } from '../support/prompt-chunk-tests.ts';
import { onOnePipeline } from '../support/rank-devices.ts';
import { testTaps } from '../support/tap-tests.ts';
import { familiesNamed } from '../support/named.ts';

/** A family of each kind of layer and state; the stages of this process have all of them. */
const FAMILIES = [
  'llama',
  'qwen3moe',
  'gpt-oss',
  'gemma3',
  'deepseek2',
  'qwen35',
  'mamba',
  'rwkv7',
  'falcon-h1',
  'bert',
];

/** A process of its own, with the model's first layers. */
const device = {
  name: 'a worker and this process',
  open: onOnePipeline(async () => {
    const own = { device: 'cpu', threads: 1, cpuKernels: 'wasm' } as const;
    return (await openDevice({ ...own, workers: ['process=cpu'] })) as DevicePipeline;
  }),
};

testGoldensOf(familiesNamed(FAMILIES), device);
testTaps(device);
testPromptChunks(device);

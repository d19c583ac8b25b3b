import { testGoldensOf } from '../support/family-tests.ts';
import { testFloatGoldens } from '../support/golden-tests.ts';
import { cpuRanks, onOneDevice, referenceRanks } from '../support/rank-devices.ts';
import { familiesNamed } from '../support/named.ts';

/**
 * Of each way to split, a family: heads dealt out unevenly, key heads that are fewer than ranks, fused products, experts, biases and
 * sinks, latent attention, recurrences whose heads are dealt out, one of them in tiled order. All families: tests/full/ranks.test.ts.
 */
const SPLIT = [
  'llama',
  'phi3',
  'gpt-oss',
  'qwen3moe',
  'deepseek2',
  'granitehybrid',
  'gemma3n',
  'nemotron_h_moe',
  'rwkv6',
  'qwen35',
];

for (const [index, name] of SPLIT.entries()) {
  const ranks = 2 + (index % 3);
  const device = { name: `${ranks} reference devices`, open: onOneDevice(async () => referenceRanks(ranks)) };
  testGoldensOf(familiesNamed([name]), device);
}
testFloatGoldens({ name: '2 CPU devices', open: onOneDevice(() => cpuRanks(2)), positions: 24 }, /260K/);

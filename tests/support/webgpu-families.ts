import { FAMILY_FIXTURES } from './family-fixtures.ts';
import { testGoldensOf, testModelsOn } from './family-tests.ts';
import { WEBGPU_GOLDENS } from './webgpu-goldens.ts';

/** Families whose operators others have, between them: each takes seconds, in which a driver on the CPU compiles its kernels. */
const LATER = [
  'llama',
  'qwen2',
  'qwen2moe',
  'qwen3',
  'chatglm',
  'glm4',
  'gemma2',
  'olmo2',
  'starcoder2',
  'bert',
  'granitemoe',
  'smollm3',
  'olmoe',
  'cohere2',
  'exaone4',
  'ernie4_5',
  'ernie4_5-moe',
  'hunyuan-moe',
  'seed_oss',
  'minimax-m2',
  'gemma',
  'arcee',
  'internlm2',
  'minicpm',
  'stablelm',
  'phi2',
  'gptneox',
  'falcon',
  'nemotron',
  'dots1',
  'deepseek',
  'bailingmoe2',
  'plamo',
  'qwen3vl',
  'qwen3vlmoe',
  'qwen2vl',
  'exaone',
  'exaone-moe',
  'cohere2moe',
  'hy_v3',
  'bailingmoe',
  'starcoder',
  'codeshell',
  'orion',
  'qwen',
  'xverse',
  'pangu-embedded',
  'jina-bert-v3',
];

/** Declares the families' tests on WebGPU, of random models those that no other stands for. */
export function testWebGpuFamilies(): void {
  testGoldensOf(
    FAMILY_FIXTURES.filter(({ name }) => !LATER.includes(name)),
    WEBGPU_GOLDENS,
  );
}

/** Declares the rest of them, and what their models do besides, which every run holds on the CPU device and the emulator. */
export function testOtherWebGpuFamilies(): void {
  testGoldensOf(
    FAMILY_FIXTURES.filter(({ name }) => LATER.includes(name)),
    WEBGPU_GOLDENS,
  );
  testModelsOn(WEBGPU_GOLDENS);
}

import { testEmulatedProcessRanks } from '../support/hip-cuda/emulated-workers.ts';

/** Of each way to split, a family: experts, latent attention, recurrences; on three cards of as many processes. */
const SPLIT = ['llama', 'gpt-oss', 'qwen3moe', 'deepseek2', 'granitehybrid', 'qwen35', 'rwkv6'];

await testEmulatedProcessRanks('gfx1100', 3, SPLIT);

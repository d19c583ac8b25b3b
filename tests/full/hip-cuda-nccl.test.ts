import { testEmulatedRanks } from '../support/hip-cuda/emulated-goldens.ts';

/** Of each way to split, a family: experts, latent attention, recurrences; on three cards, whose collectives RCCL computes. */
const SPLIT = ['llama', 'gpt-oss', 'qwen3moe', 'deepseek2', 'granitehybrid', 'qwen35', 'rwkv6'];

await testEmulatedRanks('gfx1100', 3, SPLIT, 'nccl');

import type { Architecture } from '../architecture.ts';
import { bert } from './bert.ts';
import { chatglm } from './chatglm.ts';
import { gemma2 } from './gemma2.ts';
import { gemma3 } from './gemma3.ts';
import { glm4 } from './glm4.ts';
import { glm4moe } from './glm4moe.ts';
import { gpt2 } from './gpt2.ts';
import { llama } from './llama.ts';
import { nomicBert } from './nomic-bert.ts';
import { olmo2 } from './olmo2.ts';
import { phi3 } from './phi3.ts';
import { qwen2 } from './qwen2.ts';
import { qwen2moe } from './qwen2moe.ts';
import { qwen3 } from './qwen3.ts';
import { qwen3moe } from './qwen3moe.ts';
import { rwkv7 } from './rwkv7.ts';
import { starcoder2 } from './starcoder2.ts';

/** Every architecture there is: a file each, and a line here. */
export const ALL_ARCHITECTURES: readonly Architecture[] = [
  llama,
  qwen2,
  qwen2moe,
  qwen3,
  qwen3moe,
  phi3,
  chatglm,
  glm4,
  glm4moe,
  gemma2,
  gemma3,
  olmo2,
  starcoder2,
  gpt2,
  rwkv7,
  bert,
  nomicBert,
];

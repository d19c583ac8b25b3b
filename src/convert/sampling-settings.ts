import type { GgufValue } from '../gguf/index.ts';
import { type CheckpointFiles, readJson } from './checkpoint.ts';

const FILE = 'generation_config.json';

/** Names behind `general.sampling.`, and their types, by the names of a generation config. */
const NAMES: Readonly<Record<string, readonly ['i32' | 'f32', string]>> = {
  top_k: ['i32', 'top_k'],
  top_p: ['f32', 'top_p'],
  min_p: ['f32', 'min_p'],
  temperature: ['f32', 'temp'],
  repetition_penalty: ['f32', 'penalty_repeat'],
  xtc_probability: ['f32', 'xtc_probability'],
  xtc_threshold: ['f32', 'xtc_threshold'],
};

/** Settings that are those of the tokenizer, or of one library. */
const OTHERS = new Set([
  ...['_from_model_config', 'bos_token_id', 'eos_token_id', 'pad_token_id', 'transformers_version'],
  ...['cache_implementation', 'do_sample', 'max_length', 'max_new_tokens', 'trust_remote_code'],
]);

/** A repository's generation config as the sampling that a file recommends, and the names that have no place there. */
export async function samplingSettings(
  files: CheckpointFiles,
): Promise<{ settings: [string, GgufValue][]; unread: string[] }> {
  const config = Object.entries((await readJson(files, FILE)) ?? {});
  const settings: [string, GgufValue][] = [];
  const unread: string[] = [];
  for (const [name, value] of config) {
    const [type, key] = NAMES[name] ?? [];
    if (type && typeof value === 'number') settings.push([`general.sampling.${key}`, { type, value }]);
    else if (value !== null && value !== false && !OTHERS.has(name)) unread.push(`${FILE}: ${name}`);
  }
  return { settings, unread };
}

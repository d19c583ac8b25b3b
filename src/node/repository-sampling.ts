import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Logger, silentLogger } from '../base/log.ts';
import type { SamplingNumberName } from '../ops/index.ts';
import { GENERATION_CONFIG } from './hub/index.ts';

/** A file of a repository in the cache that Hugging Face's libraries share, and the snapshot that it belongs to. */
const IN_SNAPSHOT = /^(.*[\\/]models--[^\\/]+[\\/]snapshots[\\/][0-9a-f]{40})[\\/]/;

/** Options by their names in a generation config: those that a file's metadata may recommend as well. */
const NUMBERS = {
  temperature: 'temperature',
  top_k: 'topK',
  top_p: 'topP',
  min_p: 'minP',
  repetition_penalty: 'repeatPenalty',
  xtc_probability: 'xtcProbability',
  xtc_threshold: 'xtcThreshold',
} as const satisfies Readonly<Record<string, SamplingNumberName>>;

/**
 * The sampling that the repository of a model in the cache recommends, in `generation_config.json`, which is pulled with the model. What
 * is no such file, or holds no such numbers, recommends nothing.
 */
export async function repositorySampling(
  location: string,
  logger: Logger = silentLogger,
): Promise<Readonly<Partial<Record<SamplingNumberName, number>>> | undefined> {
  const [, snapshot] = IN_SNAPSHOT.exec(location) ?? [];
  if (snapshot === undefined) return undefined;
  const path = join(snapshot, GENERATION_CONFIG);
  const text = await readFile(path, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  let config: unknown;
  try {
    config = JSON.parse(text);
  } catch {
    logger.warn('not read: it is no JSON', { file: path });
    return undefined;
  }
  const values = Object.entries(NUMBERS).flatMap(([name, option]) => {
    const value = (config as Readonly<Record<string, unknown>> | null)?.[name];
    return typeof value === 'number' && value >= 0 ? [[option, value] as const] : [];
  });
  return Object.fromEntries(values);
}

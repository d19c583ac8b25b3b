import type { AdapterChoice } from '../model/lora/adapter-set.ts';

/**
 * What a state depends on besides its ids, as JSON: `[[[adapter, scale], ...], salt]`, with null for no salt; undefined without adapters
 * and salt.
 */
export function lineageOf(adapters: readonly AdapterChoice[], salt: string | undefined): string | undefined {
  if (adapters.length === 0 && salt === undefined) return undefined;
  return JSON.stringify([adapters.map(({ index, name, scale }) => [name ?? index, scale]), salt ?? null]);
}

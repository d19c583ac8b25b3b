import { z } from 'zod';
import { listOf } from '../fields/list-of.ts';
import type { TextModel } from '../../engine/text-model.ts';
import { invalid } from '../endpoint.ts';

/** `lora` of llama.cpp's server. */
export const adapterField = listOf(z.object({ id: z.union([z.int(), z.string()]), scale: z.number() }))
  .nullish()
  .describe(
    'LoRA adapters that the text goes through, by number or name, each with its scale; others count nothing. Default: as the server was started.',
  );

/**
 * The adapters that a request selects; undefined if it has no such field. Throws `REQUEST_INVALID` for an unknown one.
 */
export function adaptersOf(
  model: TextModel,
  wanted: z.output<typeof adapterField>,
): ReadonlyMap<string, number> | undefined {
  if (!wanted) return undefined;
  const names = [...model.adapters.keys()];
  const named = wanted.map(({ id, scale }, at) => {
    const name = typeof id === 'number' ? names[id] : id;
    if (name === undefined || !names.includes(name)) {
      invalid(`lora.${at}.id`, `there is no adapter ${id}, but ${names.join(', ') || 'none at all'}`);
    }
    return [name, scale] as const;
  });
  return new Map(named);
}

import { z } from 'zod';
import { listOf } from '../fields/list-of.ts';
import type { TextModel } from '../../engine/text-model.ts';
import { invalid } from '../endpoint.ts';
import type { ModelLease } from '../model-pool.ts';

/** Adapters with their scales, as in llama.cpp's server. */
export const adapterList = listOf(z.object({ id: z.union([z.int(), z.string()]), scale: z.number() }));

/** `lora` of llama.cpp's server. */
export const adapterField = adapterList
  .nullish()
  .describe(
    'LoRA adapters that the text goes through, by number or name, each with its scale; others count nothing. Default: as the server was started.',
  );

/**
 * The adapters that a request selects: those of its field, or the one that it names as its model; undefined if it does
 * neither. Throws `REQUEST_INVALID`, which names the entry behind `path`, for an unknown one.
 */
export function adaptersOf(
  model: TextModel,
  request: { readonly lora?: z.output<typeof adapterField>; readonly model?: string | null | undefined },
  path = 'lora.',
): ReadonlyMap<string, number> | undefined {
  const { lora: wanted, model: name } = request;
  if (!wanted) {
    const isAdapter = typeof name === 'string' && model.adapters.has(name);
    return isAdapter ? new Map([[name, 1]]) : undefined;
  }
  const names = [...model.adapters.keys()];
  const named = wanted.map(({ id, scale }, at) => {
    const name = typeof id === 'number' ? names[id] : id;
    if (name === undefined || !names.includes(name)) {
      invalid(`${path}${at}.id`, `there is no adapter ${id}, but ${names.join(', ') || 'none at all'}`);
    }
    return [name, scale] as const;
  });
  return new Map(named);
}

/** Throws `REQUEST_INVALID` for an adapter where only the model itself can be asked. */
export function refuseAdapter({ id, name }: ModelLease): void {
  if (name !== id) invalid('model', `${name} is an adapter of ${id}, which is not applied here`);
}

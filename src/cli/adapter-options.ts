import { InvalidArgumentError, Option } from 'commander';
import { fail } from '../base/errors.ts';
import { modelName } from '../node/model-files.ts';
import type { AdapterOptions, AdapterSource } from '../node/open-adapters.ts';

/** LoRA adapters, as flags. */
export interface AdapterFlags {
  readonly lora?: readonly AdapterSource[];
  readonly mergeLora?: boolean;
}

/** Which adapters, and how they are applied. */
export function adapterOptions(): Option[] {
  return [
    new Option(
      '--lora <file[=scale]>',
      'LoRA adapter in GGUF, with its scale (1 by default); repeatable',
    ).argParser(adapter),
    new Option(
      '--merge-lora',
      'merge the adapters into the weights while loading: no slowdown, but the same for every request',
    ),
  ].map((option) => option.helpGroup('Model:'));
}

/**
 * The library's options for flags: adapters are named after their files. Throws `INVALID_ARGUMENT` for two of the same
 * name.
 */
export function adaptersOf({ lora, mergeLora }: AdapterFlags): AdapterOptions {
  if (!lora) {
    if (mergeLora)
      fail('INVALID_ARGUMENT', { name: '--merge-lora', found: 'no --lora', expected: 'adapters' });
    return {};
  }
  const adapters: Record<string, AdapterSource> = {};
  for (const source of lora) {
    const name = modelName(source.location);
    if (Object.hasOwn(adapters, name)) {
      const expected = 'files whose names differ';
      fail('INVALID_ARGUMENT', { name: '--lora', found: `two of the name ${name}`, expected });
    }
    adapters[name] = source;
  }
  return { adapters, mergeAdapters: mergeLora };
}

function adapter(text: string, before: readonly AdapterSource[] = []): readonly AdapterSource[] {
  // A URL's query may itself contain equals signs.
  const [, location = text, digits] = /^([^?]+)=([^=]*)$/s.exec(text) ?? [];
  const scale = digits === undefined ? 1 : Number(digits);
  if (digits?.trim() === '' || !Number.isFinite(scale)) {
    throw new InvalidArgumentError('Expected a file, or a file, = and a number.');
  }
  return [...before, { location, scale }];
}

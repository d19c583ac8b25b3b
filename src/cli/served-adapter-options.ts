import { InvalidArgumentError, Option } from 'commander';
import { fail } from '../base/errors.ts';
import type { AdapterOptions, AdapterSource } from '../node/open-adapters.ts';
import { type AdapterFlags, adaptersOf } from './adapter-options.ts';
import { wholeNumber } from './options.ts';

/** How many adapters may be loaded while the server runs, unless it is said. */
const DEFAULT_ROOM = 4;

/** LoRA adapters of a server, as flags. */
export interface ServedAdapterFlags extends AdapterFlags {
  readonly loraModules?: Readonly<Record<string, AdapterSource>>;
  readonly loraFolder?: string;
  readonly maxLoras?: number;
  readonly maxLoraRank?: number;
}

/** Adapters that requests name as models, and that are loaded while the server runs. */
export function servedAdapterOptions(): Option[] {
  return [
    new Option(
      '--lora-modules <name=file>',
      'LoRA adapter that requests select as a model of this name; repeatable',
    ).argParser(adapterModule),
    new Option('--lora-folder <folder>', 'requests may load LoRA adapters of this folder (default: refused)'),
    new Option(
      '--max-loras <count>',
      'room for adapters, including those that are loaded later (default: 4 more with --lora-folder)',
    ).argParser(wholeNumber(1)),
    new Option(
      '--max-lora-rank <rank>',
      'maximum rank of adapters that are loaded later (default: 16)',
    ).argParser(wholeNumber(1)),
  ];
}

/** The library's options for these flags, and those of `adaptersOf`. Throws `INVALID_ARGUMENT` for two of the same name. */
export function servedAdaptersOf(flags: ServedAdapterFlags): AdapterOptions {
  const { loraModules = {}, loraFolder, maxLoras, maxLoraRank } = flags;
  const { adapters: own = {}, ...rest } = adaptersOf(flags);
  const twice = Object.keys(loraModules).find((name) => Object.hasOwn(own, name));
  if (twice !== undefined) {
    const expected = 'a name that no --lora has';
    fail('INVALID_ARGUMENT', { name: '--lora-modules', found: twice, expected });
  }
  const adapters = { ...own, ...loraModules };
  const count = Object.keys(adapters).length;
  const most = maxLoras ?? (loraFolder === undefined ? undefined : count + DEFAULT_ROOM);
  return {
    ...rest,
    ...(count > 0 && { adapters }),
    ...(most !== undefined && { maxAdapters: most, maxAdapterRank: maxLoraRank }),
  };
}

function adapterModule(
  text: string,
  before: Readonly<Record<string, AdapterSource>> = {},
): Readonly<Record<string, AdapterSource>> {
  const [, name, location] = /^([\w.:-]+)=(.+)$/s.exec(text) ?? [];
  if (name === undefined || location === undefined)
    throw new InvalidArgumentError('Expected a name, = and a file.');
  if (Object.hasOwn(before, name)) throw new InvalidArgumentError(`Found two adapters ${name}.`);
  return { ...before, [name]: { location, scale: 0 } };
}

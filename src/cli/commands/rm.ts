import { Argument, Option } from 'commander';
import { formatBytes } from '../../base/bytes.ts';
import { fail } from '../../base/errors.ts';
import {
  cachedModels,
  ModelHub,
  modelNameText,
  modelsNamed,
  removeModels,
  removeUnfinished,
} from '../../node/hub/index.ts';
import type { CliCommand } from '../command.ts';
import { type JsonFlags, jsonOption } from '../options.ts';

interface RemoveFlags extends JsonFlags {
  readonly unfinished?: boolean;
}

/** `rocmforge rm`: models out of the cache. */
export const removeCommand: CliCommand<RemoveFlags> = {
  arguments: [
    new Argument(
      '[models...]',
      'names as in `rocmforge list`; a repository without a quantization is all of it',
    ),
  ],
  options: [
    new Option('--unfinished', 'also remove downloads that did not end; without models, only those'),
    jsonOption(),
  ],
  examples: [
    ['rm hf:unsloth/Qwen3-0.6B-GGUF:Q8_0', 'one quantization'],
    ['rm unsloth/Qwen3-0.6B-GGUF', 'all that is here of a repository'],
    ['rm --unfinished', 'what interrupted downloads have left'],
  ],
  async run({ args, flags }, context) {
    const [texts = []] = args as [(readonly string[])?];
    if (texts.length === 0 && !flags.unfinished) {
      fail('INVALID_ARGUMENT', { name: 'models', found: 'none', expected: 'names, or --unfinished' });
    }
    using hub = await ModelHub.open({ offline: true });
    const names = texts.map((text) => hub.parse(text));
    const models = await cachedModels(hub.settings);
    const found = names.map((name) => modelsNamed(models, name));
    for (const [i, some] of found.entries()) {
      const name = names[i];
      // Nothing is removed if one of the names is wrong.
      if (some.length === 0 && name && !flags.unfinished) {
        const known = models.map((model) => modelNameText(model.name)).join(', ') || 'no model here';
        fail('HUB_NOT_CACHED', { model: modelNameText(name), known });
      }
    }
    const removed = [...new Set(found.flat())];
    let freed = await removeModels(removed);
    if (flags.unfinished) {
      for (const name of names.length > 0 ? names : [undefined])
        freed += await removeUnfinished(hub.settings, name);
    }
    const removedNames = removed.map(({ name }) => modelNameText(name));
    if (flags.json) await context.output.json({ removed: removedNames, freed });
    else {
      for (const name of removedNames) await context.output.line(`removed ${name}`);
      context.output.note(`${formatBytes(freed)} freed`);
    }
    return undefined;
  },
};

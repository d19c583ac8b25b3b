import { Argument } from 'commander';
import { fail } from '../../base/errors.ts';
import {
  cachedModels,
  ModelHub,
  modelNameText,
  modelsNamed,
  type VerifiedFile,
  verifyModel,
} from '../../node/hub/index.ts';
import { byteProgress } from '../byte-progress.ts';
import type { CliCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { type JsonFlags, jsonOption } from '../options.ts';

/** `rocmforge verify`: whether the files of models are what their hubs say. */
export const verifyCommand: CliCommand<JsonFlags> = {
  arguments: [new Argument('[models...]', 'names as in `rocmforge list` (default: all)')],
  options: [jsonOption()],
  examples: [
    ['verify', 'hash all models again; exit code 1 if a file is damaged'],
    ['verify unsloth/Qwen3-0.6B-GGUF:Q8_0', 'one of them'],
  ],
  async run({ args, flags }, { output }) {
    const [texts = []] = args as [(readonly string[])?];
    using hub = await ModelHub.open({ offline: true });
    const all = await cachedModels(hub.settings);
    const models =
      texts.length === 0
        ? all
        : texts.flatMap((text) => {
            const name = hub.parse(text);
            const found = modelsNamed(all, name);
            const missing = { model: modelNameText(name), known: undefined };
            return found.length > 0 ? found : fail('HUB_NOT_CACHED', missing);
          });
    const results: { model: string; files: readonly VerifiedFile[] }[] = [];
    for (const model of models) {
      const name = modelNameText(model.name);
      const display = await byteProgress(output, { doing: 'checking', done: 'checked', name });
      try {
        results.push({
          model: name,
          files: await verifyModel(model, (bytes) => display.show(bytes, model.bytes)),
        });
      } finally {
        display.clear();
      }
    }
    if (flags.json) await output.json({ models: results });
    else {
      for (const { model, files } of results) {
        for (const { path, state } of files) await output.line(`${state.padEnd(7)}  ${model}  ${path}`);
      }
    }
    const isDamaged = results.some(({ files }) => files.some(({ state }) => state === 'damaged'));
    if (isDamaged) output.warn('damaged files: remove the model with rocmforge rm and pull it again');
    return isDamaged ? EXIT.failure : EXIT.ok;
  },
};

import { formatBytes } from '../../base/bytes.ts';
import { cachedModels, modelNameText, readHubSettings } from '../../node/hub/index.ts';
import type { CliCommand } from '../command.ts';
import { type JsonFlags, jsonOption } from '../options.ts';
import { tableText } from '../table.ts';

/** `rocmforge list`: the models in the cache. */
export const listCommand: CliCommand<JsonFlags> = {
  options: [jsonOption()],
  examples: [
    ['list', 'the models that are here'],
    ['list --json | jq -r .models[].files[0]', 'the paths of their files'],
  ],
  async run({ flags }, { output }) {
    const settings = await readHubSettings();
    const models = (await cachedModels(settings)).map(({ name, files, bytes, stored, commit }) => ({
      model: modelNameText(name),
      bytes,
      stored: stored.toISOString(),
      commit,
      files,
    }));
    if (flags.json) await output.json({ models });
    else if (models.length === 0) output.note('no model is here: rocmforge pull hf:user/repo gets one');
    else {
      const rows = models.map(({ model, bytes, stored }) => [model, formatBytes(bytes), stored.slice(0, 10)]);
      const columns = [
        ['model', 'left'],
        ['size', 'right'],
        ['stored', 'left'],
      ] as const;
      await output.write(tableText(columns, rows));
    }
    return undefined;
  },
};

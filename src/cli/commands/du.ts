import { formatBytes } from '../../base/bytes.ts';
import { diskUse, readHubSettings } from '../../node/hub/index.ts';
import type { CliCommand } from '../command.ts';
import { type JsonFlags, jsonOption } from '../options.ts';
import { tableText } from '../table.ts';

/** `rocmforge du`: what the caches of models take on the disk. */
export const diskUseCommand: CliCommand<JsonFlags> = {
  options: [jsonOption()],
  examples: [
    ['du', 'every repository with the space that it takes, the largest first'],
    ['du --json', 'the same for a program'],
  ],
  async run({ flags }, { output }) {
    const settings = await readHubSettings();
    const folders = await diskUse(settings);
    const total = folders.reduce((sum, { bytes }) => sum + bytes, 0);
    if (flags.json) {
      await output.json({ folders, total, cache: settings.cache, otherCache: settings.otherCache });
      return undefined;
    }
    const rows = folders.map(({ model, bytes, unfinished }) => [
      formatBytes(bytes),
      model,
      unfinished > 0 ? `${formatBytes(unfinished)} unfinished` : '',
    ]);
    const columns = [
      ['size', 'right'],
      ['model', 'left'],
      ['', 'left'],
    ] as const;
    const table = tableText(columns, [...rows, [formatBytes(total), 'in all', '']]);
    await output.write(`${table}${settings.cache}\n${settings.otherCache}\n`);
    return undefined;
  },
};

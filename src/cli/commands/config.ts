import type { CliCommand } from '../command.ts';
import { type JsonFlags, jsonOption } from '../options.ts';
import { printable, tableText } from '../table.ts';
import {
  checkSettings,
  CONFIG_VARIABLE,
  readUserSettings,
  type Setting,
  variableOf,
} from '../user-settings.ts';

/** Their values stay between the user and the server. */
const SECRETS: ReadonlySet<string> = new Set(['api-key', 'header']);

/** `rocmforge config`: the options that are set outside of command lines. */
export const configCommand: CliCommand<JsonFlags> = {
  options: [jsonOption()],
  examples: [
    ['config', 'the file, what it sets, and what the environment sets'],
    ['config --json', 'the same for a program'],
  ],
  async run({ flags }, { output, tree }) {
    const { path, settings } = readUserSettings();
    const ignored = checkSettings(await tree(), settings);
    const known = settings.filter(({ where }) => !ignored.includes(where)).map(shown);
    const states = known.map((setting) => ({ ...setting, counts: counts(setting, known) }));
    if (flags.json) {
      await output.json({ path, settings: states, ignored });
      return undefined;
    }
    await output.line(`config file: ${path} (${CONFIG_VARIABLE} names another one)`);
    if (states.length === 0) {
      const file = '{ "device": "cpu", "chat": { "temperature": 0.2 } }';
      await output.line(`Nothing is set. A file such as ${file}`);
      await output.line(
        `sets options of all commands and of one; in the environment, ${variableOf('device')}=cpu does.`,
      );
      return undefined;
    }
    const rows = states.map(({ name, command = 'all', value, from, where, counts: isSet }) => [
      name,
      command,
      printable(typeof value === 'string' ? value : JSON.stringify(value)),
      `${from === 'config' ? 'the config file' : where}${isSet ? '' : ', which does not count'}`,
    ]);
    const columns = ['option', 'command', 'value', 'from'].map((heading) => [heading, 'left'] as const);
    await output.write(tableText(columns, rows));
    return undefined;
  },
};

function shown(setting: Setting): Setting {
  return SECRETS.has(setting.name) ? { ...setting, value: '(hidden)' } : setting;
}

/** Whether no later setting takes the place of this one. */
function counts(setting: Setting, all: readonly Setting[]): boolean {
  const later = all.slice(all.indexOf(setting) + 1);
  return !later.some(
    ({ name, command }) => name === setting.name && (command === undefined || command === setting.command),
  );
}

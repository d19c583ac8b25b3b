import { type Command, Help, type HelpConfiguration, Option } from 'commander';
import { variableOf } from './user-settings.ts';

/** Commands with no more options show all of them. */
const FEW = 16;

/** The options that people use; the others are for `--help-all`. */
const COMMON: ReadonlySet<string> = new Set([
  '--api-key',
  '--compare',
  '--context',
  '--device',
  '--file',
  '--generated-tokens',
  '--golden',
  '--help',
  '--help-all',
  '--host',
  '--json',
  '--lora',
  '--max-tokens',
  '--model',
  '--models',
  '--parallel',
  '--port',
  '--prompt',
  '--prompt-file',
  '--prompt-tokens',
  '--raw',
  '--reasoning',
  '--repetitions',
  '--schema',
  '--seed',
  '--system',
  '--system-file',
  '--temperature',
]);

/** `--help` shows the options that people use, `--help-all` all of them. */
export const HELP: HelpConfiguration = { showGlobalOptions: true, visibleOptions: shownOptions };

/** Adds `--help-all` to a command. */
export function addHelpAll(command: Command): void {
  command.addOption(new Option('--help-all', 'show all options'));
  command.on('option:help-all', () => command.help());
}

/** What follows the options: how many more there are, and where else all of them can be set. */
export function furtherHelp(command: Command): string {
  const hidden = new Help().visibleOptions(command).length - shownOptions(command).length;
  if (hidden > 0) return `\n${hidden} more options: rocmforge ${command.name()} --help-all\n`;
  if (!asksForAll(command)) return '';
  const [example, variable] = ['--max-tokens', variableOf('max-tokens')];
  return `\nEvery option can also be set in the environment (${example} is ${variable}) and in the config file: rocmforge config --help\n`;
}

function shownOptions(command: Command): Option[] {
  const all = new Help().visibleOptions(command);
  if (asksForAll(command) || all.length <= FEW) return all;
  return all.filter(({ long }) => long !== undefined && COMMON.has(long));
}

function asksForAll(command: Command): boolean {
  return command.getOptionValue('helpAll') === true;
}

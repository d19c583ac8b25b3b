import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Command, InvalidArgumentError, type Option } from 'commander';
import { fail } from '../base/errors.ts';
import { conflictsOf } from './options.ts';
import { textOfBytes } from './text-files.ts';
import { userFolder } from './user-folders.ts';

/** A value that the user has set for an option outside of the command line. */
export interface Setting {
  /** The option's long name, without dashes: `max-tokens`. */
  readonly name: string;
  readonly value: string | boolean | readonly string[];
  /** The command that it is for; undefined for all that have the option. */
  readonly command: string | undefined;
  readonly from: 'environment' | 'config';
  /** The variable or the file, as a person would look for it. */
  readonly where: string;
}

/** The file and the environment, as they are. */
export interface UserSettings {
  readonly path: string;
  /** What counts more stands later: the file, its sections for commands, the environment. */
  readonly settings: readonly Setting[];
}

const PREFIX = 'ROCMFORGE_';
/** Names the config file. */
export const CONFIG_VARIABLE = `${PREFIX}CONFIG`;
/** Variables of this program that set no option: where the config file is, and what its own tests go by. */
const OTHER_VARIABLES = /^ROCMFORGE_(?:CONFIG$|TEST_)/;
/** Options that ask about the program instead of setting something. */
const ASKING = new Set(['help', 'help-all', 'version']);

/**
 * Reads the environment and the config file: `ROCMFORGE_CONFIG`, or `rocmforge/config.json` in the user's folder of settings.
 * Throws `INVALID_ARGUMENT` for a file that is not one of settings, and `SOURCE_UNAVAILABLE` if a named one cannot be read.
 */
export function readUserSettings(env: NodeJS.ProcessEnv = process.env): UserSettings {
  const named = env[CONFIG_VARIABLE];
  const path = named || join(userFolder('config', env), 'config.json');
  return { path, settings: [...configIn(path, Boolean(named)), ...environmentIn(env)] };
}

/**
 * Gives the options of a command that the command line leaves open the values of the settings. A setting that an option of the
 * command line excludes does not count. Returns the names of the settings that are options of the command. Throws
 * `INVALID_ARGUMENT` for a value that the option refuses.
 */
export function applySettings(
  command: Command,
  settings: readonly Setting[],
  name: string,
): ReadonlySet<Setting> {
  const own = settings.filter((setting) => setting.command === undefined || setting.command === name);
  const used = new Set<Setting>();
  const given = command.options.filter((option) => isGiven(command, option) || isArgument(command, option));
  const wanted: Wanted[] = [];
  for (const option of command.options.filter(isSettable)) {
    const found = own.filter((setting) => setting.name === longName(option));
    for (const setting of found) used.add(setting);
    const setting = found.at(-1);
    if (!setting || given.some((other) => other === option || excludes(option, other))) continue;
    const value = valueOf(option, setting);
    if (value !== undefined) wanted.push({ option, setting, value });
  }
  for (const { option, setting, value } of wanted.filter((one) => counts(one, wanted))) {
    const source = setting.from === 'config' ? 'config' : 'env';
    command.setOptionValueWithSource(option.attributeName(), value, source);
  }
  return used;
}

/** A setting, and what the option makes of it. */
interface Wanted {
  readonly option: Option;
  readonly setting: Setting;
  readonly value: unknown;
}

/** Of settings that exclude one another, the one that counts more is left. Throws `INVALID_ARGUMENT` if none does. */
function counts({ option, setting }: Wanted, all: readonly Wanted[]): boolean {
  const rivals = all.filter((other) => excludes(option, other.option));
  const equal = rivals.find((other) => rankOf(other.setting) === rankOf(setting));
  if (equal) {
    const { name, where, value } = setting;
    const expected = `no ${equal.setting.name} beside it`;
    fail('INVALID_ARGUMENT', { name: `${name} in ${where}`, found: String(value), expected });
  }
  return rivals.every((other) => rankOf(other.setting) < rankOf(setting));
}

function rankOf({ from, command }: Setting): number {
  if (from === 'environment') return 2;
  return command === undefined ? 0 : 1;
}

/** What sets no option of any command: names, and those of sections. `program` has all commands. */
export function unknownSettings(program: Command, settings: readonly Setting[]): readonly Setting[] {
  const names = (command: Command) => command.options.filter(isSettable).map(longName);
  const shared = new Set([program, ...program.commands].flatMap(names));
  return settings.filter(({ name, command }) => {
    if (command === undefined) return !shared.has(name);
    const section = program.commands.find((one) => one.name() === command);
    return !section || ![program, section].flatMap(names).includes(name);
  });
}

/** Throws `INVALID_ARGUMENT` for what the config file has and no option is; returns the variables that are none. */
export function checkSettings(program: Command, settings: readonly Setting[]): readonly string[] {
  const unknown = unknownSettings(program, settings);
  const wrong = unknown.find(({ from }) => from === 'config');
  if (wrong) {
    const { where: name, command } = wrong;
    const found = command === undefined ? wrong.name : `${command}.${wrong.name}`;
    const expected = 'names of options, as rocmforge COMMAND --help-all lists them, without the dashes';
    fail('INVALID_ARGUMENT', { name, found, expected });
  }
  return unknown.map(({ where }) => where);
}

/** The long name of an option, without dashes: `no-history`. */
export function longName({ long }: Option): string {
  return long?.replace(/^--/, '') ?? '';
}

/** The environment variable that sets an option. */
export function variableOf(name: string): string {
  return PREFIX + name.toUpperCase().replaceAll('-', '_');
}

function isSettable(option: Option): boolean {
  return option.long !== undefined && !ASKING.has(longName(option));
}

function isGiven(command: Command, option: Option): boolean {
  const source = command.getOptionValueSource(option.attributeName());
  return source !== undefined && source !== 'default';
}

/** Whether an argument takes the place of an option: the model of `chat`, the prompt of `run`. */
function isArgument({ registeredArguments, processedArgs }: Command, option: Option): boolean {
  return registeredArguments.some(
    (argument, i) => argument.name() === longName(option) && processedArgs[i] !== undefined,
  );
}

function excludes(one: Option, other: Option): boolean {
  const [first, second] = [one.attributeName(), other.attributeName()];
  return first !== second && (conflictsOf(one).includes(second) || conflictsOf(other).includes(first));
}

/** The value of an option as the command line would give it; undefined for a switch that is off. */
function valueOf(option: Option, { value, where, name }: Setting): unknown {
  if (option.isBoolean() || option.negate) return switchOf(option, value, `${name} in ${where}`);
  if (typeof value === 'boolean' && !option.optional) {
    return fail('INVALID_ARGUMENT', { name: `${name} in ${where}`, found: `${value}`, expected: 'a value' });
  }
  if (value === false) return undefined;
  const texts = value === true ? [] : typeof value === 'string' ? [value] : value;
  if (texts.length === 0) return option.presetArg ?? true;
  try {
    const parse = option.parseArg as ((text: string, before: unknown) => unknown) | undefined;
    return texts.reduce((before: unknown, text) => (parse ? parse(text, before) : text), undefined);
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error;
    const expected = error.message.replace(/^Expected |\.$/g, '');
    return fail('INVALID_ARGUMENT', { name: `${name} in ${where}`, found: `${texts}`, expected }, error);
  }
}

const SWITCHES: Readonly<Record<string, boolean>> = {
  true: true,
  '1': true,
  on: true,
  false: false,
  '0': false,
  off: false,
};

function switchOf(option: Option, value: Setting['value'], name: string): boolean | undefined {
  const isOn = SWITCHES[String(value)];
  if (isOn === undefined) fail('INVALID_ARGUMENT', { name, found: String(value), expected: 'true or false' });
  return isOn ? !option.negate : undefined;
}

function environmentIn(env: NodeJS.ProcessEnv): Setting[] {
  return Object.entries(env).flatMap(([where, value]) => {
    if (!where.startsWith(PREFIX) || OTHER_VARIABLES.test(where) || !value) return [];
    const name = where.slice(PREFIX.length).toLowerCase().replaceAll('_', '-');
    return [{ name, value, command: undefined, from: 'environment' as const, where }];
  });
}

function configIn(path: string, isNamed: boolean): Setting[] {
  const text = textOf(path, isNamed);
  if (text === undefined) return [];
  const settings = settingsIn(objectIn(text, path), undefined, path);
  // A section counts more than what is for all commands.
  return settings.toSorted((a, b) => Number(a.command !== undefined) - Number(b.command !== undefined));
}

function textOf(path: string, isNamed: boolean): string | undefined {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    const isMissing = ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
    if (!isNamed && isMissing) return undefined;
    const reason = error instanceof Error ? error.message : String(error);
    return fail('SOURCE_UNAVAILABLE', { source: path, reason }, error);
  }
  return textOfBytes(bytes, 'what', path);
}

function objectIn(text: string, name: string): Record<string, unknown> {
  const expected = 'a JSON object with values of options, and sections for commands';
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value;
    return fail('INVALID_ARGUMENT', { name, found: text.slice(0, 40), expected });
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return fail('INVALID_ARGUMENT', { name, found: error.message, expected }, error);
  }
}

function settingsIn(object: Record<string, unknown>, command: string | undefined, where: string): Setting[] {
  return Object.entries(object).flatMap(([name, value]): Setting[] => {
    if (isObject(value) && command === undefined) return settingsIn(value, name, where);
    const of = { name, command, from: 'config', where } as const;
    if (typeof value === 'boolean' || typeof value === 'string') return [{ ...of, value }];
    if (typeof value === 'number') return [{ ...of, value: String(value) }];
    if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return [{ ...of, value }];
    const expected = 'a text, a number, true, false or a list of texts';
    return fail('INVALID_ARGUMENT', { name: `${name} in ${where}`, found: JSON.stringify(value), expected });
  });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

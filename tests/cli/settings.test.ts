import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Command, Option } from 'commander';
import { repeated, wholeNumber } from '../../src/cli/options.ts';
import { applySettings, readUserSettings, type Setting } from '../../src/cli/user-settings.ts';
import { userFolder } from '../../src/cli/user-folders.ts';
import { startCliIn, tinyModelFile } from '../support/run-cli.ts';
import { temporaryFolder } from '../support/temporary.ts';

/** The values of a command's options, given a command line and settings. */
function valuesOf(words: readonly string[], settings: readonly Setting[]): Record<string, unknown> {
  const command = new Command('run')
    .addOption(new Option('-n, --max-tokens <count>').argParser(wholeNumber(1)).default(5))
    .addOption(new Option('--stop <text>').argParser(repeated))
    .addOption(new Option('--greedy').conflicts('temperature'))
    .addOption(new Option('--temperature <number>').argParser(Number))
    .addOption(new Option('--profile [file]'))
    .addOption(new Option('--weights <policy>').choices(['blocks', 'f16']))
    .addOption(new Option('--no-markdown'));
  command.parse(words, { from: 'user' });
  applySettings(command, settings, 'run');
  return command.opts();
}

/** The settings of a config file and an environment. */
function settingsOf(t: TestContext, config: unknown, env: NodeJS.ProcessEnv = {}): readonly Setting[] {
  const path = join(temporaryFolder(t), 'config.json');
  writeFileSync(path, typeof config === 'string' ? config : JSON.stringify(config));
  return readUserSettings({ ...env, ROCMFORGE_CONFIG: path }).settings;
}

test('the command line counts most, then the environment, a section of the file, and the file', (t) => {
  const file = { 'max-tokens': 10, stop: ['a', 'b'], run: { 'max-tokens': 20, profile: true } };
  assert.deepEqual(valuesOf([], settingsOf(t, { 'max-tokens': 10 })).maxTokens, 10);
  assert.deepEqual(valuesOf([], settingsOf(t, file)), {
    maxTokens: 20,
    stop: ['a', 'b'],
    profile: true,
    markdown: true,
  });
  const env = { ROCMFORGE_MAX_TOKENS: '30', ROCMFORGE_NO_MARKDOWN: '1', ROCMFORGE_STOP: '' };
  const both = settingsOf(t, file, env);
  assert.deepEqual([valuesOf([], both).maxTokens, valuesOf([], both).markdown], [30, false]);
  assert.equal(valuesOf(['-n', '40'], both).maxTokens, 40);
  assert.deepEqual(valuesOf(['--stop', 'c'], both).stop, ['c'], 'a list is replaced, not extended');
});

test('a setting that the command line excludes does not count', (t) => {
  const cold = settingsOf(t, { temperature: 0.5 });
  assert.deepEqual(valuesOf([], cold).temperature, 0.5);
  assert.deepEqual(valuesOf(['--greedy'], cold).temperature, undefined);
  const greedy = settingsOf(t, {}, { ROCMFORGE_GREEDY: 'true' });
  assert.deepEqual(valuesOf([], greedy).greedy, true);
  assert.deepEqual(valuesOf(['--temperature', '1'], greedy).greedy, undefined);
  assert.deepEqual(valuesOf([], settingsOf(t, { greedy: false })).greedy, undefined);
  const both = valuesOf([], settingsOf(t, { temperature: 1 }, { ROCMFORGE_GREEDY: '1' }));
  assert.deepEqual([both.greedy, both.temperature], [true, undefined], 'nor one that another excludes');
});

test('an argument counts more than a setting of the option in whose place it stands', (t) => {
  const promptOf = (...words: string[]) => {
    const command = new Command('run')
      .argument('[prompt]')
      .addOption(new Option('--prompt <text>').conflicts('promptFile'))
      .addOption(new Option('--prompt-file <file>'));
    command.parse(words, { from: 'user' });
    applySettings(command, settingsOf(t, { prompt: 'a', 'prompt-file': 'b' }), 'run');
    return command.opts();
  };
  assert.deepEqual(promptOf('mine'), {});
  assert.deepEqual(promptOf('--prompt', 'mine'), { prompt: 'mine' });
  assert.throws(() => promptOf(), /prompt in .*: found a, expected no prompt-file beside it/);
});

test('what no option accepts is refused', (t) => {
  const cases: [config: unknown, reason: RegExp][] = [
    [{ 'max-tokens': 'many' }, /max-tokens in .*config\.json: found many, expected a whole number/],
    [{ 'max-tokens': true }, /found true, expected a value/],
    [{ 'max-tokens': [1] }, /found \[1\], expected a text, a number/],
    [{ greedy: 'maybe' }, /found maybe, expected true or false/],
    [{ weights: 'f64' }, /found f64, expected .*blocks, f16/i],
    [{ run: { stop: { a: 1 } } }, /stop in/],
    ['[1]', /expected a JSON object/],
    ['{"a":', /expected a JSON object/],
  ];
  for (const [config, reason] of cases) {
    assert.throws(() => valuesOf([], settingsOf(t, config)), reason, JSON.stringify(config));
  }
  assert.throws(() => readUserSettings({ ROCMFORGE_CONFIG: '/nowhere/config.json' }), {
    code: 'SOURCE_UNAVAILABLE',
  });
});

test('a file may begin with a mark, as Notepad writes it; its encoding is named, and a home that is none has none', (t) => {
  assert.equal(settingsOf(t, '\ufeff{"device":"cpu"}')[0]?.value, 'cpu');
  const path = join(temporaryFolder(t), 'config.json');
  writeFileSync(path, Buffer.from('\ufeff{}', 'utf16le'));
  assert.throws(() => readUserSettings({ ROCMFORGE_CONFIG: path }), /in UTF-16, as PowerShell writes files/);
  assert.deepEqual(readUserSettings({ XDG_CONFIG_HOME: path }).settings, []);
});

test('folders are those of the platform', () => {
  assert.equal(userFolder('config', { XDG_CONFIG_HOME: '/x' }, 'linux'), join('/x', 'rocmforge'));
  assert.equal(userFolder('state', { LOCALAPPDATA: '/local' }, 'win32'), join('/local', 'rocmforge'));
  assert.match(userFolder('state', { LOCALAPPDATA: '/local' }, 'linux'), /\.local.state.rocmforge$/);
});

test('a program goes by its settings, shows them, and says what it does not know', async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'config.json');
  const run = (env: NodeJS.ProcessEnv, ...args: string[]) =>
    startCliIn(t, { ...process.env, ROCMFORGE_CONFIG: path, ...env }, args).result;
  const config = { device: 'reference', 'api-key': ['secret'], run: { 'max-tokens': 2, 'ignore-end': true } };
  writeFileSync(path, JSON.stringify(config));
  const model = await tinyModelFile(t);
  const ran = await run({ ROCMFORGE_MODEL: model, ROCMFORGE_JSON: '1' }, 'run', 'hi');
  assert.equal(ran.stderr, '');
  const result = JSON.parse(ran.stdout);
  assert.deepEqual([result.device.backend, result.generatedTokens], ['reference', 2]);

  const shown = await run({ ROCMFORGE_DEVICE: 'cpu', ROCMFORGE_DEVISE: 'cpu' }, 'config');
  assert.match(shown.stdout, /^device +all +reference +the config file, which does not count$/m);
  assert.match(shown.stdout, /^device +all +cpu +ROCMFORGE_DEVICE$/m);
  assert.match(shown.stdout, /^max-tokens +run +2 +the config file$/m);
  assert.match(shown.stdout, /^api-key +all +\(hidden\)/m);
  assert.equal(shown.stderr, 'ROCMFORGE_DEVISE is ignored: there is no option of this name\n');
  assert.deepEqual(JSON.parse((await run({}, 'config', '--json')).stdout).path, path);

  writeFileSync(path, JSON.stringify({ chat: { tempreature: 1 } }));
  const refused = await run({}, 'devices');
  assert.equal(refused.code, 2);
  assert.match(refused.stderr, /config\.json: found chat\.tempreature, expected names of options/);
});

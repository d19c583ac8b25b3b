import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Command } from 'commander';
import { describeCommand } from '../../src/cli/command.ts';
import { COMMANDS } from '../../src/cli/commands/index.ts';
import { globalOptions } from '../../src/cli/options.ts';
import { PROJECT_ROOT } from '../support/project.ts';
import { BUNDLED, runCli, runCliEach } from '../support/run-cli.ts';

test('the help of the program and of every command ends well and shows examples', async (t) => {
  const all = await runCli(t, ['--help']);
  assert.equal(all.code, 0);
  const helps = await runCliEach(
    t,
    COMMANDS.map(({ name }) => [name, '--help']),
  );
  for (const [i, { name, read }] of COMMANDS.entries()) {
    const { examples } = await read();
    assert.match(all.stdout, new RegExp(`^  ${name}[ |]`, 'm'));
    assert.ok(examples.length > 0, name);
    const one = helps[i] ?? assert.fail(name);
    assert.equal(one.code, 0, name);
    assert.equal(one.stderr, '', name);
    assert.match(one.stdout, new RegExp(`^Usage: rocmforge ${name}[ |]`));
    for (const [commandLine, does] of examples) {
      assert.ok(one.stdout.includes(`# ${does}\n  $ rocmforge ${commandLine}`), commandLine);
    }
    assert.match(one.stdout, /--log <level>/);
  }
});

test('--help shows the options that people use, --help-all every one', async (t) => {
  for (const name of ['run', 'bench']) {
    const command = COMMANDS.find((one) => one.name === name);
    const { options = [] } = (await command?.read()) ?? {};
    const helps = await runCliEach(t, [
      [name, '--help'],
      [name, '--help-all'],
    ]);
    const [few = '', all = ''] = helps.map(({ stdout }) => stdout);
    const inAll = options.filter(({ flags }) => all.includes(`  ${flags}  `) || all.includes(`  ${flags}\n`));
    assert.equal(inAll.length, options.length, name);
    const shown = options.filter(({ flags }) => few.includes(`  ${flags}  `));
    assert.ok(shown.length > 4 && shown.length < 20, `${name} shows ${shown.length}`);
    assert.match(few, /--model <location>[\s\S]*\d+ more options: rocmforge \w+ --help-all/);
    assert.match(all, /--max-tokens is ROCMFORGE_MAX_TOKENS/);
  }
});

test('every example is a command line that is understood', async () => {
  for (const { read } of COMMANDS) {
    const { examples } = await read();
    for (const [commandLine] of examples) {
      let started = 0;
      const program = new Command().exitOverride();
      for (const option of globalOptions()) program.addOption(option);
      for (const command of COMMANDS) {
        describeCommand(program.command(command.name), await command.read(), async () => {
          started++;
        });
      }
      await program.parseAsync(wordsOf(commandLine), { from: 'user' });
      assert.equal(started, 1, commandLine);
    }
  }
});

test('the version is that of the package', async (t) => {
  const { version } = JSON.parse(readFileSync(join(PROJECT_ROOT, 'package.json'), 'utf8'));
  const { code, stdout } = await runCli(t, ['--version']);
  assert.deepEqual({ code, stdout }, { code: 0, stdout: `${version}\n` });
});

test('a command line that cannot be meant ends with 2 and a hint', async (t) => {
  const cases: [args: string[], hint: RegExp][] = [
    [[], /^Usage: rocmforge/],
    [['runn'], /unknown command 'runn'[\s\S]*Did you mean run\?/],
    [['run', '--promt', 'x'], /unknown option '--promt'[\s\S]*Did you mean --prompt\?/],
    [['run', 'two', 'words'], /too many arguments/],
    [['chat', 'a.gguf', '-m', 'b.gguf'], /\[model\]: found a\.gguf and --model, expected one model/],
    [['serve', 'a.gguf', '--models', 'b'], /\[model\]: found a\.gguf and --models, expected one of both/],
    [['run', 'word', '-p', 'x'], /\[prompt\]: found --prompt as well, expected one prompt/],
    [['run', '--prompt-file', 'nowhere.txt'], /--prompt-file: found .*nowhere\.txt.*, expected a file/],
    [['serve', '--load-trace', 'trace.json'], /unknown option '--load-trace'/],
    [['chat', '--profile'], /unknown option '--profile'/],
    [['run', '--top-k', 'many'], /Expected a number/],
    [['run', '--context', '0'], /whole number, at least 1/],
    [['run', '--cache-type', 'f64'], /Allowed choices are f16, q8_0, q5_1, q4_0, f32/],
    [['run', '-p', 'x', '--raw', '--system', 'y'], /cannot be used with/],
    [['run', '-p', 'x', '--temperature', '-1'], /--temperature: found -1, expected a number from 0 to 100/],
    [['run', '-p', 'x', '--device', 'abacus'], /--device: found abacus, expected auto/],
    [
      ['run', '-p', 'x', '--draft', BUNDLED, '--draft-device', 'abacus'],
      /--draft-device: found abacus, expected auto/,
    ],
    [['tokenize', '--decode', 'one'], /found one, expected token ids/],
  ];
  const results = await runCliEach(
    t,
    cases.map(([args]) => args),
  );
  for (const [i, [args, hint]] of cases.entries()) {
    const { code, stdout, stderr } = results[i] ?? assert.fail(args.join(' '));
    assert.equal(code, 2, args.join(' '));
    assert.equal(stdout, '', args.join(' '));
    assert.match(stderr, hint);
  }
});

/** The words of an example, up to where the shell takes over. */
function wordsOf(commandLine: string): string[] {
  const [meant = ''] = commandLine.split(/ [<|>] /);
  const words = meant.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g);
  return Array.from(words, ([, double, single, plain]) => double ?? single ?? plain ?? '');
}

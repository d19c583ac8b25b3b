import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Command } from 'commander';
import { type AdapterFlags, adapterOptions, adaptersOf } from '../../src/cli/adapter-options.ts';
import { servedAdapterOptions, servedAdaptersOf } from '../../src/cli/served-adapter-options.ts';
import { LORA_BASE, LORA_FILES } from '../support/lora-fixtures.ts';
import { runCli } from '../support/run-cli.ts';

const { first = '', second = '' } = LORA_FILES;
const ASK = [
  'run',
  '-d',
  'reference',
  '-m',
  LORA_BASE,
  '--raw',
  '-p',
  'a b c',
  '-n',
  '6',
  '--greedy',
  '--json',
];

test('--lora takes several adapters with their scales, beside the weights or added to them', async (t) => {
  const said = async (...flags: string[]): Promise<number[]> => {
    const { code, stdout, stderr } = await runCli(t, [...ASK, ...flags]);
    assert.equal(code, 0, stderr);
    return (JSON.parse(stdout) as { ids: number[] }).ids;
  };
  const both = ['--lora', `${first}=0.75`, '--lora', `${second}=-0.25`];
  const beside = await said(...both);
  assert.notDeepEqual(beside, await said());
  assert.deepEqual(await said(...both, '--merge-lora'), beside);
});

function flagsOf(...args: string[]): AdapterFlags {
  const command = new Command().exitOverride().configureOutput({ writeErr: () => {} });
  for (const option of adapterOptions()) command.addOption(option);
  return command.parse(args, { from: 'user' }).opts();
}

test('adapters are called as their files, and count fully unless it is said otherwise', () => {
  assert.deepEqual(adaptersOf(flagsOf('--lora', 'a/law.gguf=-0.5', '--lora', 'b.gguf', '--merge-lora')), {
    adapters: { law: { location: 'a/law.gguf', scale: -0.5 }, b: { location: 'b.gguf', scale: 1 } },
    mergeAdapters: true,
  });
  assert.deepEqual(adaptersOf(flagsOf()), {});
  assert.throws(() => adaptersOf(flagsOf('--merge-lora')), {
    code: 'INVALID_ARGUMENT',
    message: /no --lora/,
  });
  const { lora } = flagsOf('--lora', 'https://example.com/law.gguf?download=1');
  assert.deepEqual(lora, [{ location: 'https://example.com/law.gguf?download=1', scale: 1 }]);
  assert.throws(() => flagsOf('--lora', 'law.gguf=much'), /Expected a file, or a file, = and a number/);
  const twice = flagsOf('--lora', 'a/law.gguf', '--lora', 'b/law.gguf');
  assert.throws(() => adaptersOf(twice), { code: 'INVALID_ARGUMENT', message: /two of the name law/ });
});

test('a server of several models takes no adapters', async (t) => {
  const served = await runCli(t, ['serve', '-m', LORA_BASE, '-m', `other=${LORA_BASE}`, '--lora', first]);
  assert.match(served.stderr, /the one model that the adapters are for/);
  assert.notEqual(served.code, 0);
});

test('adapters of a server have names of their own, and room for others', () => {
  const flags = (...args: string[]) => {
    const command = new Command().exitOverride().configureOutput({ writeErr: () => {} });
    for (const option of [...adapterOptions(), ...servedAdapterOptions()]) command.addOption(option);
    return servedAdaptersOf(command.parse(args, { from: 'user' }).opts());
  };
  const modules = ['--lora', 'law.gguf', '--lora-modules', 'sql=a/b=c.gguf', '--lora-modules', 'go=d.gguf'];
  const adapters = {
    law: { location: 'law.gguf', scale: 1 },
    sql: { location: 'a/b=c.gguf', scale: 0 },
    go: { location: 'd.gguf', scale: 0 },
  };
  assert.deepEqual(flags(...modules), { adapters, mergeAdapters: undefined });
  const room = flags(...modules, '--lora-folder', 'loras', '--max-lora-rank', '64');
  assert.deepEqual([room.maxAdapters, room.maxAdapterRank], [7, 64]);
  assert.equal(flags('--lora-folder', 'loras', '--max-loras', '2').maxAdapters, 2);
  assert.deepEqual(flags(), {});
  assert.throws(() => flags('--lora', 'sql.gguf', '--lora-modules', 'sql=b.gguf'), {
    code: 'INVALID_ARGUMENT',
  });
  assert.throws(() => flags('--lora-modules', 'a=b.gguf', '--lora-modules', 'a=c.gguf'), /two adapters a/);
  assert.throws(() => flags('--lora-modules', 'law.gguf'), /Expected a name/);
});

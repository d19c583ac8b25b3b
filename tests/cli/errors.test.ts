import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { BUNDLED, MAIN, runCli, runCliEach, tinyModelFile } from '../support/run-cli.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { tinyBytes } from '../support/tiny-model.ts';
import { HUNG_MS } from '../support/hung.ts';

/** Runs the compiled bin with a file as its standard output. */
function runOnto(stdout: number, args: readonly string[]) {
  const stdio = ['ignore', stdout, 'pipe'] as const;
  return spawnSync(process.execPath, [MAIN, ...args], {
    stdio: [...stdio],
    encoding: 'utf8',
    timeout: HUNG_MS,
  });
}

test('a failure is said with what to do, without a stack, and ends with 1', async (t) => {
  const folder = temporaryFolder(t);
  const wrong = join(folder, 'wrong.gguf');
  writeFileSync(wrong, 'GGML and more than a few bytes of something else');
  const cut = join(folder, 'cut.gguf');
  writeFileSync(cut, new Uint8Array([0x47, 0x47, 0x55, 0x46, 3, 0, 0, 0, 9]));
  const tiny = await tinyModelFile(t);
  const long = 'hi '.repeat(300);
  const cases: [args: string[], message: RegExp][] = [
    [['run', '-p', 'x', '-m', join(folder, 'none.gguf')], /none\.gguf cannot be opened/],
    [['run', '-p', 'x', '-m', wrong], /wrong\.gguf.*GGML/],
    [['inspect', cut], /cut\.gguf/],
    [['tokenize', '-m', folder, 'x'], /cannot be opened/],
    [
      ['run', '-d', 'reference', '-m', tiny, '-c', '64', '-p', long],
      /the prompt of \d+ tokens is too large: it exceeds the available context size of 64/,
    ],
    [['tokenize', '-m', tiny, '--decode', '100000'], /token id: found 100000/],
  ];
  const results = await runCliEach(
    t,
    cases.map(([args]) => args),
  );
  for (const [at, { code, stdout, stderr }] of results.entries()) {
    assert.equal(code, 1, stderr);
    assert.equal(stdout, '');
    assert.match(stderr, cases[at]?.[1] as RegExp);
    assert.match(stderr, /^error: .+\nfix: {3}.+\n$/, 'message and fix, and nothing more');
  }
});

test('--log shows where a failure comes from', async (t) => {
  const { stderr } = await runCli(t, ['inspect', 'none.gguf', '--log', 'debug']);
  assert.match(stderr, /^RocmforgeError: [\s\S]*\n {4}at /m);
});

test('with --json a failure is an object on stderr', async (t) => {
  for (const { code, stdout, stderr } of await runCliEach(t, [
    ['inspect', 'none.gguf', '--json'],
    ['run', '-m', 'none.gguf', '-p', 'hi', '--json-stream'],
  ])) {
    assert.deepEqual({ code, stdout }, { code: 1, stdout: '' });
    const { error } = JSON.parse(stderr);
    assert.equal(error.code, 'SOURCE_UNAVAILABLE');
    assert.equal(typeof error.fix, 'string');
  }
});

test('what a file says of itself does not steer the terminal', async (t) => {
  const path = join(temporaryFolder(t), 'model.gguf');
  const architecture = { type: 'string', value: 'x\u001b]0;title\u0007' } as const;
  writeFileSync(path, await tinyBytes('F32', [['general.architecture', architecture]]));
  const { code, stderr } = await runCli(t, ['run', '-m', path, '-p', 'hi']);
  assert.equal(code, 1);
  assert.match(stderr, /x\\u001b\]0;title\\u0007/);
});

test('a result that cannot be written is a failure', async (t) => {
  if (!existsSync('/dev/full')) return t.diagnostic('no /dev/full here: the full disk was not tried');
  const full = openSync('/dev/full', 'w');
  t.after(() => closeSync(full));
  const model = await tinyModelFile(t);
  for (const asked of [
    ['tokenize', 'hi'],
    ['run', '-d', 'reference', '-m', model, '-p', 'hi', '-n', '9'],
  ]) {
    const plain = runOnto(full, asked);
    assert.equal(plain.status, 1);
    assert.match(plain.stderr, /^error: standard output cannot be written: ENOSPC[^\n]*\nfix: [^\n]*\n$/);
    const forProgram = runOnto(full, [...asked, '--json']);
    assert.equal(forProgram.status, 1);
    assert.equal(JSON.parse(forProgram.stderr).error.code, 'WRITE_FAILED');
  }
});

test('a model too large for memory is refused before it is loaded', async (t) => {
  const { code, stderr } = await runCli(t, [
    'run',
    '-d',
    'null',
    '-m',
    BUNDLED,
    '-p',
    'x',
    '-c',
    '1000000000000',
  ]);
  assert.equal(code, 1);
  assert.match(stderr, /the model needs .* are free/);
});

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { PROJECT_ROOT } from '../support/project.ts';
import { HUNG_MS } from '../support/hung.ts';
import { startCli, tinyModelFile } from '../support/run-cli.ts';

const textOf = (name: string) => readFileSync(join(PROJECT_ROOT, 'deploy', name), 'utf8');

/** The words of an instruction of a Dockerfile in its form as a list; the last one counts. */
function wordsOf(dockerfile: string, instruction: string): string[] {
  const all = [...dockerfile.matchAll(new RegExp(`^\\s*${instruction} (\\[.*\\])$`, 'gm'))];
  return JSON.parse(all.at(-1)?.[1] ?? '[]') as string[];
}

/** What the image runs is what `rocmforge` is given here, but for the GPU, the port and the model. */
function serving(words: readonly string[], model: string): string[] {
  return [...words.map((word) => (word === 'cuda' ? 'cpu' : word)), '--port', '0', '-m', model];
}

for (const name of ['Dockerfile', 'Dockerfile.cuda']) {
  test(`${name}: its health check fails without a server, and passes with the one that it starts`, async (t) => {
    const dockerfile = textOf(name);
    assert.deepEqual(wordsOf(dockerfile, 'ENTRYPOINT'), ['rocmforge']);
    const [command = '', ...words] = wordsOf(dockerfile, 'CMD');
    assert.equal(command, 'serve');
    const [, , script = ''] = /^HEALTHCHECK[\s\S]*?CMD (\[.*\])$/m
      .exec(dockerfile)
      ?.slice(1)
      .flatMap((list) => JSON.parse(list) as string[]) ?? ['', '', ''];
    const healthOf = (port: string) => {
      const text = script.replace(':8080/', `:${port}/`);
      assert.notEqual(text, script);
      return spawnSync(process.execPath, ['-e', text], { timeout: HUNG_MS }).status;
    };
    assert.equal(healthOf('9'), 1);
    const { process: server, result } = startCli(t, command, ...serving(words, await tinyModelFile(t)));
    const [line] = (await once(server.stdout, 'data')) as [Buffer];
    const port = /:(\d+)/.exec(line.toString())?.[1] ?? assert.fail(line.toString());
    // It is listening before its model is there.
    while ((await fetch(`http://127.0.0.1:${port}/health`)).status === 503) await setTimeout(20);
    assert.equal(healthOf(port), 0);
    server.kill('SIGTERM');
    assert.equal((await result).code, 0);
  });
}

test('rocmforge.service starts a server, and gives it longer to end than the server takes', async (t) => {
  const unit = textOf('rocmforge.service');
  const [, command = ''] = /^ExecStart=\/usr\/bin\/env rocmforge (.*)$/m.exec(unit) ?? [];
  const words = command.split(' ');
  const drain = Number(words[words.indexOf('--drain-seconds') + 1]);
  assert.ok(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1]) > drain);
  const { process: server, result } = startCli(t, ...serving(words, await tinyModelFile(t)));
  await once(server.stdout, 'data');
  server.kill('SIGTERM');
  assert.equal((await result).code, 0);
});

test('the images are made of files that the repository and the package have', () => {
  for (const name of ['Dockerfile', 'Dockerfile.cuda']) {
    assert.match(textOf(name), /npm ci && npm pack --pack-destination \/packed/);
    assert.match(textOf(name), /^USER (?!root)\w+$/m);
  }
  const { files } = JSON.parse(readFileSync(join(PROJECT_ROOT, 'package.json'), 'utf8')) as {
    files: string[];
  };
  assert.ok(files.includes('deploy') && existsSync(join(PROJECT_ROOT, 'deploy/rocmforge.service')));
});

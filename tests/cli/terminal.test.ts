import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { HUNG_MS } from '../support/hung.ts';
import { MAIN, tinyModelFile } from '../support/run-cli.ts';
import { temporaryFolder } from '../support/temporary.ts';

/** The `script` of util-linux gives a program a terminal, where the system has any. */
const hasTerminals = spawnSync('script', ['-qec', 'exit 7', '/dev/null']).status === 7;
const skip = !hasTerminals && 'needs script of util-linux, and a system that has terminals';

test('at a terminal, pastes and earlier messages are there, and Ctrl-C twice leaves', { skip }, async (t) => {
  const model = await tinyModelFile(t);
  const command = `"${process.execPath}" "${MAIN}" chat "${model}" -d reference -n 3 --ignore-end --greedy`;
  const terminal = spawn('script', ['-qec', command, '/dev/null'], {
    env: { ...process.env, XDG_STATE_HOME: temporaryFolder(t), TERM: 'xterm' },
    timeout: HUNG_MS,
    killSignal: 'SIGKILL',
  });
  t.after(() => terminal.kill('SIGKILL'));
  const closed = once(terminal, 'close') as Promise<[number | null]>;
  const chunks = terminal.stdout[Symbol.asyncIterator]();
  let screen = '';
  /** Resolves once the terminal shows a text behind what was awaited before. */
  const shows = async (text: string) => {
    while (!screen.includes(text)) {
      const { done, value } = await chunks.next();
      assert.ok(!done, `it ended before it showed ${text}: ${screen}`);
      screen += String(value);
    }
    screen = screen.slice(screen.indexOf(text) + text.length);
  };
  await shows('> ');
  terminal.stdin.write('\u001b[200~hi\nhi\u001b[201~\r');
  await shows('generated 3 tokens');
  await shows('> ');
  terminal.stdin.write('\u001b[A');
  await shows('hi');
  terminal.stdin.write('\u0003');
  await shows('> ');
  terminal.stdin.write('\u0003');
  await shows('Ctrl-C again leaves');
  terminal.stdin.write('\u0003');
  while (!(await chunks.next()).done);
  assert.equal((await closed)[0], 130);
});

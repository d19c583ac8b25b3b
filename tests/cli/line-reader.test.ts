import assert from 'node:assert/strict';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { ChatHistory } from '../../src/cli/chat-history.ts';
import { type LineEvent, LineReader } from '../../src/cli/line-reader.ts';
import { Output } from '../../src/cli/output.ts';
import { temporaryFolder } from '../support/temporary.ts';

/** A reader at a terminal whose keys the test presses. */
function terminal(t: TestContext, history?: ChatHistory) {
  const stream = () => Object.assign(new PassThrough(), { isTTY: true, columns: 80 });
  const [keys, screen] = [stream(), stream()];
  let shown = '';
  let interrupts = 0;
  screen.on('data', (chunk: Buffer) => (shown += chunk.toString()));
  const stdout = screen as unknown as NodeJS.WriteStream;
  const reader = new LineReader({
    output: new Output({ stdout, stderr: stdout }),
    interrupted: () => interrupts++,
    input: keys as unknown as NodeJS.ReadStream,
    history,
  });
  t.after(() => reader[Symbol.dispose]());
  const ask = async (typed: string, draft?: string) => {
    const event = reader.next('> ', draft);
    keys.write(typed);
    return textOf(await event);
  };
  return { reader, keys, ask, shown: () => shown, interrupts: () => interrupts };
}

function textOf(event: LineEvent): string {
  return event.kind === 'line' ? event.text : `(${event.kind})`;
}

const UP = '\u001b[A';
const paste = (text: string) => `\u001b[200~${text}\u001b[201~`;

test('what is pasted is one message, edited to its end', async (t) => {
  const { reader, ask, shown } = terminal(t);
  assert.equal(await ask(`see: ${paste('one\ntwo\nthr')}ee\r`), 'see: one\ntwo\nthree');
  assert.equal(await ask(`${UP}!\r`), 'see: one\ntwo\nthree!', 'the arrow key brings it back whole');
  assert.equal(await ask('next\r'), 'next');
  reader[Symbol.dispose]();
  const text = shown();
  assert.ok(
    text.startsWith('\u001b[?2004h') && text.includes('\u001b[?2004l'),
    'pastes are marked meanwhile',
  );
});

test('several lines, a draft, and Ctrl-C', async (t) => {
  const { ask, interrupts, keys, reader } = terminal(t);
  assert.equal(await ask('a\\\rb\r'), 'a\nb');
  assert.equal(await ask('!\r', 'old'), 'old!');
  assert.equal(await ask('partial\u0003new\r'), 'new', 'the first Ctrl-C discards what is typed');
  assert.equal(await ask('"""\rx\r\u0003y\r'), 'y', 'and what is gathered');
  assert.equal(await ask('\u0003'), '(interrupt)');
  assert.equal(interrupts(), 0);
  reader.interrupt();
  assert.equal(interrupts(), 1, 'nobody asks for a message');
  keys.write('\u0004');
  assert.equal(await ask(''), '(end)');
});

test('the history of messages goes from one run to the next', async (t) => {
  const path = join(temporaryFolder(t), 'state', 'history.jsonl');
  const warnings: string[] = [];
  const history = () => new ChatHistory(path, (text) => warnings.push(text));
  const first = terminal(t, history());
  await first.ask('hello\r');
  await first.ask('a\\\rb\r');
  await first.ask('\r');
  assert.equal(readFileSync(path, 'utf8'), '"hello"\n"a\\nb"\n');
  if (process.platform !== 'win32') assert.equal(statSync(path).mode & 0o777, 0o600);
  writeFileSync(path, '"cut off', { flag: 'a' });
  const second = terminal(t, history());
  assert.equal(await second.ask(`${UP}\r`), 'a\nb');
  assert.equal(await second.ask(`${UP}${UP}\r`), 'hello');
  assert.equal(warnings.length, 0);
  const unusable = new ChatHistory(join(path, 'below'), (text) => warnings.push(text));
  assert.deepEqual(unusable.read(), []);
  unusable.add('x');
  assert.equal(warnings.length, 1, 'said once');
});

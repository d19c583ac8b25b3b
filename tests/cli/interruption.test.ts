import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Interruption } from '../../src/cli/interruption.ts';

test('Ctrl-C is with who took it over until all is to end; then it ends the process', (t) => {
  using interruption = new Interruption();
  const exit = t.mock.method(process, 'exit', () => undefined as never);
  let taken = 0;
  interruption.take(() => taken++);
  interruption.interrupt();
  assert.deepEqual([taken, exit.mock.callCount()], [1, 0]);
  interruption.end();
  interruption.interrupt();
  assert.deepEqual([taken, exit.mock.calls.map(({ arguments: [code] }) => code)], [1, [130]]);
});

test('the exit code is that of the signal: the first one ends the work, the next the process', (t) => {
  const exit = t.mock.method(process, 'exit', () => undefined as never);
  const signals = [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const;
  for (const [name, code] of signals) {
    using interruption = new Interruption();
    assert.equal(interruption.ended, undefined);
    process.emit(name);
    process.emit('SIGTERM');
    assert.equal(interruption.ended, code);
  }
  assert.deepEqual(
    exit.mock.calls.map(({ arguments: [code] }) => code),
    [143, 143],
  );
});

test('the end of a terminal ends everything; without one it is left as it is', (t) => {
  const listeners = process.listenerCount('SIGHUP');
  const streams = [process.stdin, process.stdout, process.stderr];
  const before = streams.map((stream) => stream.isTTY);
  const setTerminal = (values: readonly boolean[]) => {
    for (const [i, stream] of streams.entries()) {
      Object.defineProperty(stream, 'isTTY', { value: values[i], configurable: true });
    }
  };
  t.after(() => setTerminal(before));
  for (const isTTY of [false, true]) {
    setTerminal([false, isTTY, false]);
    using interruption = new Interruption();
    assert.equal(process.listenerCount('SIGHUP'), listeners + Number(isTTY));
    if (isTTY) process.emit('SIGHUP');
    assert.equal(interruption.ended, isTTY ? 129 : undefined);
    assert.equal(interruption.signal.aborted, isTTY);
  }
  assert.equal(process.listenerCount('SIGHUP'), listeners);
});

test('many texts may wait for Ctrl-C at once without a warning', async (t) => {
  using interruption = new Interruption();
  const warnings: Error[] = [];
  const listener = (warning: Error) => warnings.push(warning);
  process.on('warning', listener);
  t.after(() => process.off('warning', listener));
  for (let text = 0; text < 64; text++) interruption.signal.addEventListener('abort', () => text);
  // Node emits warnings in a later turn.
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(warnings, []);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLogger, type LoggerOptions } from '../../src/node/logger.ts';

function linesOf(options: Omit<LoggerOptions, 'write'>): string[] {
  const lines: string[] = [];
  const log = createLogger({ ...options, write: (line) => void lines.push(line) });
  log.warn('careful');
  log.debug('opened', { file: 'a b.gguf', bytes: 17, ms: 1.23456, nested: { x: [1] } });
  log.trace('step', { rows: 1 });
  return lines;
}

test('text for people: seconds, level, message, fields', () => {
  const lines = linesOf({ level: 'debug' });
  assert.equal(lines.length, 2);
  assert.match(lines[0] ?? '', /^ +\d+\.\d{3}s warn {2}careful\n$/);
  assert.match(lines[1] ?? '', /s debug opened file="a b\.gguf" bytes=17 ms=1\.235 nested=\{"x":\[1\]\}\n$/);
});

test('an object a line for programs', () => {
  const [, , step] = linesOf({ level: 'trace', json: true });
  const { time, ...rest } = JSON.parse(step ?? '');
  assert.deepEqual(rest, { level: 'trace', rows: 1, msg: 'step' });
  assert.ok(!Number.isNaN(Date.parse(time)));
});

test('a level that is not written is said to be off', () => {
  const log = createLogger({ level: 'debug', write: () => {} });
  assert.deepEqual([log.enabled('debug'), log.enabled('trace')], [true, false]);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MessageLines } from '../../src/cli/message-lines.ts';

test('a line is a message, unless quotes, a backslash or a paste hold it together with others', () => {
  const lines = new MessageLines();
  const feed = (...given: string[]) => given.map((line) => lines.add(line));
  assert.deepEqual(feed('hi', ''), ['hi', '']);
  assert.deepEqual(feed('one\\', 'two\\', 'three'), [undefined, undefined, 'one\ntwo\nthree']);
  assert.deepEqual(feed('"""', 'a', '', ' b', '"""'), [
    undefined,
    undefined,
    undefined,
    undefined,
    'a\n\n b',
  ]);
  assert.deepEqual(feed('"""a', 'b"""', '"""c"""'), [undefined, 'a\nb', 'c']);
  assert.deepEqual(feed('say """x"""'), ['say """x"""'], 'quotes within a line are text');
  lines.isPasting = true;
  assert.deepEqual(feed('a\\', '"""b'), [undefined, undefined], 'nothing is a mark in what is pasted');
  assert.equal(lines.isEmpty, false);
  lines.isPasting = false;
  assert.deepEqual(feed('c'), ['a\\\n"""b\nc']);
  assert.equal(lines.end(), undefined);
  feed('"""', 'cut off');
  assert.equal(lines.end(), 'cut off', 'the end of a pipe ends a message');
  assert.equal(lines.isEmpty, true);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StopMatcher } from '../../src/text/index.ts';
import fc from '../support/fast-check.ts';

function run(
  stops: readonly string[],
  pieces: readonly string[],
): { shown: string[]; stop: string | undefined } {
  const matcher = new StopMatcher(stops);
  const shown: string[] = [];
  let stop: string | undefined;
  for (const piece of pieces) {
    const result = matcher.push(piece);
    shown.push(result.text);
    stop ??= result.stop;
  }
  return { shown: [...shown, matcher.flush()], stop };
}

test('holds back what may begin a stop string, and no more', () => {
  assert.deepEqual(run(['</s>'], ['a<', 'b</', 's', 'x', '</s>y', 'z']), {
    shown: ['a', '<b', '', '</sx', '', '', ''],
    stop: '</s>',
  });
});

test('gives out at the end what was held back', () => {
  assert.deepEqual(run(['END'], ['THE EN']), { shown: ['THE ', 'EN'], stop: undefined });
});

test('overlapping beginnings', () => {
  assert.deepEqual(run(['aab'], ['aa', 'aa', 'b']), { shown: ['', 'aa', '', ''], stop: 'aab' });
  assert.deepEqual(run(['abc', 'b'], ['abc']), { shown: ['a', ''], stop: 'b' });
  assert.deepEqual(run(['xyz', 'yz'], ['wxyz']), { shown: ['w', ''], stop: 'xyz' });
});

test('an empty stop string is refused: it would end every text', () => {
  assert.throws(() => new StopMatcher(['', 'q']), { code: 'INVALID_ARGUMENT' });
});

test('how the text is cut makes no difference', () => {
  const unit = fc.constantFrom('a', 'b', 'c');
  const stops = fc.array(fc.string({ unit, minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 3 });
  const pieces = fc.array(fc.string({ unit, maxLength: 12 }), { maxLength: 5 });
  fc.assert(
    fc.property(stops, pieces, (wanted, parts) => {
      const whole = parts.join('');
      const { shown, stop } = run(wanted, parts);
      const text = shown.join('');
      const single = run(wanted, [...whole]);
      assert.deepEqual([text, stop], [single.shown.join(''), single.stop]);
      const ends = wanted.filter((s) => whole.includes(s)).map((s) => whole.indexOf(s) + s.length);
      if (stop === undefined) assert.deepEqual([ends, text], [[], whole]);
      else {
        assert.ok(whole.startsWith(text + stop));
        assert.equal(text.length + stop.length, Math.min(...ends));
      }
    }),
  );
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkOptions, nearestName, type OptionNames } from '../../src/base/options.ts';

interface Options {
  readonly context?: number;
  readonly maxTokens: number;
}

const NAMES: OptionNames<Options> = { context: true, maxTokens: true };

test('known names and names without a value pass, others are named with the nearest', () => {
  checkOptions('load', undefined, NAMES);
  checkOptions('load', { context: 1, contextSize: undefined }, NAMES);
  assert.throws(() => checkOptions('load', { contextSize: 1 }, NAMES), {
    code: 'OPTION_UNKNOWN',
    message: 'load has no option "contextSize": is "context" meant?',
  });
  assert.throws(() => checkOptions('load', { zebra: 1 }, NAMES), {
    message: 'load has no option "zebra"; it has context, maxTokens',
  });
  assert.throws(() => checkOptions('load', { toString: 1 }, NAMES), { code: 'OPTION_UNKNOWN' });
  for (const odd of [null, 3, 'cpu', [], () => {}]) {
    assert.throws(() => checkOptions('load', odd, NAMES), { code: 'INVALID_ARGUMENT' }, String(odd));
  }
});

test('the nearest name is the one that was probably meant', () => {
  const known = ['maxTokens', 'temperature', 'topK', 'topP', 'minP', 'context', 'headers', 'stop'];
  const meant: [string, string | undefined][] = [
    ['max_tokens', 'maxTokens'],
    ['max_new_tokens', 'maxTokens'],
    ['temprature', 'temperature'],
    ['top_k', 'topK'],
    ['contextSize', 'context'],
    ['header', 'headers'],
    ['frobnicate', undefined],
  ];
  for (const [name, expected] of meant) assert.equal(nearestName(name, known), expected, name);
});

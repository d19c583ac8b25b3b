import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Command } from 'commander';
import { isRocmforgeError, RocmforgeError } from '../../src/base/errors.ts';
import { withFlagNames } from '../../src/cli/flag-names.ts';

/** A command that was called with a draft model's tokens, or without. */
function command(...args: readonly string[]): Command {
  return new Command()
    .option('--gpus <which>')
    .option('--experts <where>')
    .option('--top-p <p>')
    .option('--speculation <tokens>')
    .option('--draft-max <tokens>')
    .parse(args, { from: 'user' });
}

function named(error: RocmforgeError, of = command()): RocmforgeError<'INVALID_ARGUMENT'> {
  const found = withFlagNames(error, of);
  assert.ok(isRocmforgeError(found, 'INVALID_ARGUMENT'));
  return found;
}

test('an argument is called by the flag that sets it, in sentences too', () => {
  const expected = "for experts: 'stream' one device, and no tensorParallel";
  const error = new RocmforgeError('INVALID_ARGUMENT', {
    name: 'experts',
    found: 'tensorParallel 2',
    expected,
  });
  const found = named(error);
  assert.deepEqual(found.params, {
    name: '--experts',
    found: '--gpus 2',
    expected: 'for --experts stream one device, and no --gpus',
  });
  const frames = ({ stack = '' }: Error) => stack.slice(stack.indexOf('\n    at '));
  assert.equal(frames(found), frames(error));
  assert.ok(found.stack?.includes('--gpus') && found.cause === undefined);
});

test('draft tokens are called by the flag that was given', () => {
  const error = () =>
    new RocmforgeError('INVALID_ARGUMENT', { name: 'speculation', found: '99', expected: 'less' });
  assert.equal(named(error()).params.name, '--speculation');
  assert.equal(named(error(), command('--draft-max', '99')).params.name, '--draft-max');
});

test("the user's own words stay, and errors without names of options", () => {
  const errors = [
    new RocmforgeError('INVALID_ARGUMENT', { name: 'grammar', found: 'a rule topP', expected: 'no topK' }),
    new RocmforgeError('SOURCE_UNAVAILABLE', { source: 'topP', reason: "stat 'topP'" }),
    new Error('topP'),
  ];
  for (const error of errors) assert.equal(withFlagNames(error, command()), error);
});

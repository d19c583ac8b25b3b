import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PromptPace } from '../../src/scheduler/prompt-pace.ts';

/** Steps on a device of which the times are known, with prompts that never end; the rows of prompts in the last. */
function settle(pace: PromptPace, msOf: (rows: number) => number, generating = 4): number {
  let rows = 0;
  for (let step = 0; step < 40; step++) {
    pace.measured({ rows: generating, generating, ms: msOf(generating) });
    rows = pace.rowsBeside(generating);
    pace.measured({ rows: generating + rows, generating, ms: msOf(generating + rows) });
  }
  return rows;
}

test('slices grow or shrink until a step takes the target', () => {
  for (const perRow of [0.2, 0.5, 2]) {
    const msOf = (rows: number) => 5 + perRow * rows;
    const ms = msOf(4 + settle(new PromptPace({ tokenMs: 50 }, [512]), msOf));
    assert.ok(ms > 40 && ms < 52, `${perRow} ms a row: ${ms} ms`);
  }
  assert.equal(
    settle(new PromptPace({ tokenMs: 50 }, [512]), (rows) => 5 + 0.05 * rows),
    508,
    'no more than a step has',
  );
  assert.equal(
    settle(new PromptPace({ tokenMs: 50 }, [512]), (rows) => 5 + 20 * rows),
    16,
    'no less than is worth a step',
  );
});

test('where the steps are slow without prompts, too, a prompt gets half as much time as they take', () => {
  const msOf = (rows: number) => 200 + 2 * rows;
  const rows = settle(new PromptPace({ tokenMs: 50 }, [512]), msOf);
  assert.ok(Math.abs(msOf(4 + rows) - 1.5 * msOf(4)) < 20, `${rows} rows`);
});

test('how long a step takes without prompts is known for each number of generating rows', () => {
  const msOf = (generating: number, rows: number) => 2 * generating + 0.5 * rows;
  const pace = new PromptPace({ tokenMs: 20 }, [512]);
  for (let step = 0; step < 40; step++) {
    for (const generating of [2, 8]) {
      pace.measured({ rows: generating, generating, ms: msOf(generating, 0) });
      const rows = pace.rowsBeside(generating);
      pace.measured({ rows: generating + rows, generating, ms: msOf(generating, rows) });
    }
  }
  assert.deepEqual(
    [2, 3, 8].map((generating) => pace.rowsBeside(generating)),
    [32, 32, 16],
  );
});

test('a step that had to wait for a processor does not make the next ones small or large', () => {
  const pace = new PromptPace({ tokenMs: 50 }, [512]);
  const msOf = (rows: number) => 5 + 0.2 * rows;
  const settled = settle(pace, msOf);
  for (const late of [45, -30]) {
    const rows = pace.rowsBeside(4);
    pace.measured({ rows: 4 + rows, generating: 4, ms: msOf(4 + rows) + late });
    assert.ok(Math.abs(pace.rowsBeside(4) - settled) < 0.3 * settled, `${late} ms`);
    settle(pace, msOf);
  }
});

test('by default, a CPU aims at shorter steps than a device whose steps have several capacities', () => {
  const msOf = (rows: number) => 2 + 0.1 * rows;
  const [cpu, gpu] = [[512], [256, 512]].map((capacities) =>
    settle(new PromptPace({ tokenMs: 'auto' }, capacities), msOf),
  );
  assert.deepEqual([cpu, gpu], [96, 176]);
});

test('a step has as many rows as there is a plan for', () => {
  const capacities = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];
  const msOf = (rows: number) => (capacities.find((capacity) => capacity >= rows) as number) / 4;
  const rows = settle(new PromptPace({ tokenMs: 50 }, capacities), msOf);
  assert.equal(rows + 4, 128, 'of 32 ms; the next are of 64');
});

test('the end of a prompt does not make the next one slow or large', () => {
  const pace = new PromptPace({ tokenMs: 50 }, [512]);
  const rows = settle(pace, (count) => 5 + 0.2 * count);
  for (let i = 0; i < 20; i++) {
    pace.rowsBeside(4);
    pace.measured({ rows: 6, generating: 4, ms: 5.1 });
  }
  assert.ok(Math.abs(pace.rowsBeside(4) - rows) <= rows / 10);
});

test('alone, slices shrink to what is wanted of a step, and grow again for what is read faster', () => {
  const capacities = [64, 128, 256, 512];
  const pace = new PromptPace({ promptMs: 250 }, capacities);
  const readBy = (perRow: number) => {
    const slices = Array.from({ length: 8 }, () => {
      const rows = pace.rowsBeside(0);
      pace.measured({ rows, generating: 0, ms: perRow * rows });
      return rows;
    });
    return slices.at(-1);
  };
  assert.equal(pace.rowsBeside(0), 512, 'until it is known what they take');
  assert.equal(readBy(1.5), 128);
  assert.equal(readBy(0.2), 512);
  assert.equal(readBy(20), 64, 'no fewer than the weights are worth reading for');
  pace.measured({ rows: 8, generating: 0, ms: 200 });
  assert.equal(readBy(0.2), 512, 'a short prompt says nothing of a long one');
  assert.equal(pace.rowsBeside(1), Number.POSITIVE_INFINITY, 'beside others nothing was asked for');
});

test('alone, too, a prompt gets as much time as steps without prompts take', () => {
  const pace = new PromptPace({ promptMs: 250 }, [512]);
  pace.measured({ rows: 1, generating: 1, ms: 400 });
  for (let step = 0; step < 8; step++) {
    const rows = pace.rowsBeside(0);
    pace.measured({ rows, generating: 0, ms: 400 + 2 * rows });
  }
  assert.equal(pace.rowsBeside(0), 200);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import type { PositionLogits } from '../../src/runtime/forced-logits.ts';
import { ForcedDecoding } from '../../src/evaluate/forced-decoding.ts';
import { parseGolden } from '../../src/evaluate/golden.ts';

const GOLDEN = {
  ids: [0, 2, 1],
  lse: [Math.log(Math.exp(3) + Math.exp(1) + Math.exp(2)), Math.log(2 * Math.exp(1) + 1), 0],
  top: [
    [
      [0, 3],
      [2, 2],
    ],
    [
      [1, 1],
      [0, 0.9],
    ],
    [
      [2, 5],
      [0, 4],
    ],
  ],
  next: [2, 1],
};

const LOGITS = [
  [3, 1, 2],
  [1.25, 1, 0],
  [4, 0, 5],
];

async function* logitsOf(rows: readonly (readonly number[])[], from = 0): AsyncGenerator<PositionLogits> {
  for (const [index, row] of rows.entries()) yield { position: from + index, logits: Float32Array.from(row) };
}

async function reportOf(rows: readonly (readonly number[])[]) {
  const decoding = new ForcedDecoding();
  for (const golden of parseGolden(JSON.stringify(GOLDEN))) await decoding.compare(golden, logitsOf(rows));
  return decoding.report();
}

test('differences, agreement and likelihood are those of the definition', async () => {
  const report = await reportOf(LOGITS);
  assert.equal(report.positions, 3);
  // At the middle position 0 is best instead of 1, but the golden's two best are only 0.1 apart.
  assert.equal(report.agreement, 2 / 3);
  assert.deepEqual([report.clearPositions, report.clearAgreement], [2, 1]);
  assert.ok(Math.abs(report.maxDifference - 0.35) < 1e-6);
  const first = 2 - Math.log(Math.exp(3) + Math.exp(1) + Math.exp(2));
  const second = 1 - Math.log(Math.exp(1.25) + Math.exp(1) + 1);
  assert.ok(Math.abs(report.logLikelihood - (first + second) / 2) < 1e-6);
  const golden = (first + 1 - Math.log(2 * Math.exp(1) + 1)) / 2;
  assert.ok(Math.abs(report.goldenLogLikelihood - golden) < 1e-12);
});

test('a logit that is no number makes the difference none', async () => {
  const rows = LOGITS.map((row) => [...row]);
  (rows[2] as number[])[0] = Number.NaN;
  assert.ok(Number.isNaN((await reportOf(rows)).maxDifference));
});

test('a golden of the positions from `from` on', async () => {
  const late = { ids: GOLDEN.ids, from: 1, lse: GOLDEN.lse.slice(1), top: GOLDEN.top.slice(1), next: [1] };
  const decoding = new ForcedDecoding();
  const [golden] = parseGolden(JSON.stringify(late));
  assert.ok(golden);
  await decoding.compare(golden, logitsOf(LOGITS.slice(1), 1));
  assert.equal(decoding.report().positions, 2);
});

test('goldens that cannot be compared are refused with their line', () => {
  const bad: readonly [string, RegExp][] = [
    ['', /found nothing/],
    ['{', /line 1 .*JSON object/],
    [`${JSON.stringify(GOLDEN)}\n[1]`, /line 2 .*no list ids/],
    [JSON.stringify({ ...GOLDEN, from: 3 }), /from 3, expected 0 to 2/],
    [JSON.stringify({ ...GOLDEN, lse: [1] }), /1 values of lse, expected 3/],
    [JSON.stringify({ ...GOLDEN, next: [1, null] }), /next with something else/],
    [JSON.stringify({ ...GOLDEN, top: [[], [], []] }), /\[id, logit\] pairs/],
  ];
  for (const [text, message] of bad) {
    assert.throws(
      () => parseGolden(text),
      (error: unknown) => isRocmforgeError(error, 'GOLDEN_INVALID') && message.test(error.message),
      text,
    );
  }
});

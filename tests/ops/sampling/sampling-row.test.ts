import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  DEFAULT_SAMPLING,
  MAX_DRY_PENALTIES,
  MAX_LOG_PROBABILITIES,
  MAX_LOGIT_BIASES,
  readSamplingRow,
  SAMPLING_ROW_WORDS,
  type SamplingParameters,
  validateSampling,
  writeSamplingRow,
} from '../../../src/ops/index.ts';
import fc from '../../support/fast-check.ts';

const share = fc.float({ min: 0, max: 1, noNaN: true });
const penalty = fc.float({ min: -100, max: 100, noNaN: true });

const parameters: fc.Arbitrary<SamplingParameters> = fc
  .record({
    temperature: fc.oneof(fc.constant(0), fc.float({ min: 2 ** -126, max: 100, noNaN: true })),
    topK: fc.nat(),
    topP: share,
    minP: share,
    typicalP: share,
    topNSigma: fc.float({ min: -1, max: 100, noNaN: true }),
    xtcProbability: fc.float({ min: 0, max: 1, noNaN: true }),
    xtcThreshold: fc.float({ min: 0, max: 1, noNaN: true }),
    dynatempRange: fc.float({ min: 0, max: 100, noNaN: true }),
    dynatempExponent: fc.float({ min: Math.fround(0.01), max: 100, noNaN: true }),
    repeatPenalty: fc.float({ min: Math.fround(0.01), max: 100, noNaN: true }),
    frequencyPenalty: penalty,
    presencePenalty: penalty,
    penaltyWindow: fc.integer({ min: -1 }),
    seed: fc.maxSafeNat(),
    logProbabilities: fc.integer({ min: -1, max: MAX_LOG_PROBABILITIES }),
    logitBias: fc
      .array(fc.tuple(fc.nat(), fc.oneof(fc.float({ noNaN: true }), fc.constant(-Infinity))), {
        maxLength: MAX_LOGIT_BIASES,
      })
      .map((pairs) => new Map(pairs)),
    dryPenalties: fc
      .array(fc.tuple(fc.nat(), penalty), { maxLength: MAX_DRY_PENALTIES })
      .map((pairs) => new Map(pairs)),
    masked: fc.boolean(),
  })
  .map((record) => ({ ...record }));

test('parameters survive being written as a row', () => {
  fc.assert(
    fc.property(parameters, (given) => {
      validateSampling(given);
      const row = new Int32Array(SAMPLING_ROW_WORDS);
      writeSamplingRow(given, row);
      assert.deepEqual(readSamplingRow(row), given);
    }),
  );
});

test('a temperature that is no normal f32 is written as 0', () => {
  const row = new Int32Array(SAMPLING_ROW_WORDS);
  for (const temperature of [2 ** -127, 1e-42, 1e-300]) {
    writeSamplingRow({ ...DEFAULT_SAMPLING, temperature }, row);
    assert.equal(readSamplingRow(row).temperature, 0);
  }
});

test('the defaults are valid', () => {
  validateSampling(DEFAULT_SAMPLING);
});

const wrong: readonly [Partial<Record<keyof SamplingParameters, unknown>>, RegExp][] = [
  [{ temperature: -1 }, /temperature: found -1, expected a number from 0 to 100/],
  [{ temperature: Number.NaN }, /temperature: found NaN/],
  [{ temperature: '0.7' }, /temperature/],
  [{ temperature: undefined }, /temperature: found undefined/],
  [{ topK: 1.5 }, /topK: found 1.5, expected a whole number/],
  [{ topK: -1 }, /topK/],
  [{ topP: 1.01 }, /topP/],
  [{ minP: -0.1 }, /minP/],
  [{ typicalP: 2 }, /typicalP/],
  [{ repeatPenalty: 0 }, /repeatPenalty/],
  [{ frequencyPenalty: Number.POSITIVE_INFINITY }, /frequencyPenalty/],
  [{ presencePenalty: -101 }, /presencePenalty/],
  [{ penaltyWindow: -2 }, /penaltyWindow/],
  [{ seed: -1 }, /seed/],
  [{ seed: 2 ** 53 }, /seed/],
  [{ logProbabilities: MAX_LOG_PROBABILITIES + 1 }, /logProbabilities/],
  [{ logitBias: new Map([[-1, 0]]) }, /logitBias: found token -1/],
  [{ logitBias: new Map([[1, Number.NaN]]) }, /logitBias: found NaN for token 1/],
  [
    { logitBias: new Map(Array.from({ length: MAX_LOGIT_BIASES + 1 }, (_, i) => [i, 1])) },
    /logitBias: found 301 tokens, expected at most 300/,
  ],
];

for (const [change, message] of wrong) {
  test(`refuses ${String(message)}`, () => {
    const given = { ...DEFAULT_SAMPLING, ...change } as SamplingParameters;
    assert.throws(() => validateSampling(given), { code: 'INVALID_ARGUMENT', message });
  });
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SamplingParameters } from '../../../src/ops/index.ts';
import { naiveDistribution, naiveLogits } from './naive.ts';
import { distributionOf, NEUTRAL, sampleOne, someLogits } from './sampling-setup.ts';
import fc from '../../support/fast-check.ts';

type Parameters = Partial<SamplingParameters>;

/** Asserts that the chain leaves the tokens, with the probabilities, that the naive one leaves. */
function assertSameDistribution(count: number, seed: number, parameters: Parameters): void {
  const of = { ...NEUTRAL, ...parameters };
  const history = Array.from({ length: 30 }, (_, i) => (i * seed) % (count + 3));
  const logits = someLogits(count, seed);
  const { scratch } = sampleOne({ logits, parameters, history });
  const expected = naiveDistribution(naiveLogits(logits, of, history), of);
  const actual = distributionOf(scratch);
  assert.deepEqual([...actual.keys()], [...expected.keys()]);
  for (const [id, probability] of expected) {
    assert.ok(Math.abs((actual.get(id) ?? 0) - probability) < 1e-9, `token ${id}`);
  }
}

/** Parameters reach the sampler as f32: 0.99999997 is 1 there, and cuts nothing. */
const float = (min: number, max: number) => fc.double({ min, max, noNaN: true }).map(Math.fround);

const share = float(0, 1);

const stages: Readonly<Record<string, fc.Arbitrary<Parameters>>> = {
  temperature: fc.record({ temperature: float(0.01, 5) }),
  'top-k': fc.record({ topK: fc.nat(120) }),
  typical: fc.record({ typicalP: share }),
  'top-p': fc.record({ topP: share }),
  'min-p': fc.record({ minP: share }),
  'top-n-sigma': fc.record({ topNSigma: float(0, 4) }),
  XTC: fc.record({ xtcProbability: fc.constantFrom(0, 1), xtcThreshold: float(0.001, 0.6) }),
  'dynamic temperature': fc.record({
    temperature: float(0.5, 3),
    dynatempRange: float(0, 4),
    dynatempExponent: float(0.2, 4),
  }),
  penalties: fc.record({
    repeatPenalty: float(0.2, 3),
    frequencyPenalty: float(-1, 2),
    presencePenalty: float(-1, 2),
    penaltyWindow: fc.integer({ min: -1, max: 40 }),
  }),
  'logit bias': fc.record({
    logitBias: fc
      .array(
        fc.tuple(fc.nat(130), fc.oneof(fc.float({ min: -9, max: 9, noNaN: true }), fc.constant(-Infinity))),
        { maxLength: 20 },
      )
      .map((pairs) => new Map(pairs)),
  }),
};

const dry = fc.record({
  dryPenalties: fc
    .array(fc.tuple(fc.nat(130), fc.float({ min: -9, max: 9, noNaN: true })), { maxLength: 20 })
    .map((pairs) => new Map(pairs)),
});

for (const [name, parameters] of Object.entries({ ...stages, DRY: dry })) {
  test(`stage ${name} leaves what a naive f64 implementation leaves`, () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 100 }),
        fc.integer({ min: 1 }),
        parameters,
        assertSameDistribution,
      ),
    );
  });
}

test('the whole chain leaves what a naive one leaves', () => {
  const all = fc.tuple(...Object.values(stages), dry).map((parts): Parameters => Object.assign({}, ...parts));
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1 }), all, assertSameDistribution),
    {
      numRuns: 300,
    },
  );
});

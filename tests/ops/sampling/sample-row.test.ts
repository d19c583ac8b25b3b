import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  areValidLogits,
  type BlockMaxima,
  DEFAULT_SAMPLING,
  MAX_LOG_PROBABILITIES,
  MAXIMA_BLOCK,
  NO_TOKEN,
  SamplingScratch,
} from '../../../src/ops/index.ts';
import { naiveDistribution } from './naive.ts';
import { distributionOf, NEUTRAL, sampleOne, someLogits } from './sampling-setup.ts';

test('tokens come as often as their probabilities say', () => {
  const logits = Float32Array.of(1, -0.5, 2, 0, 1.5, -1, 2);
  const parameters = { temperature: 0.8, minP: 0.1, seed: 20_240_607 };
  const expected = naiveDistribution(logits, { ...NEUTRAL, ...parameters });
  const scratch = new SamplingScratch(logits.length);
  const draws = 20_000;
  const counts = new Map<number, number>();
  for (let position = 0; position < draws; position++) {
    const { token } = sampleOne({ logits, parameters, position, scratch, history: [0] });
    counts.set(token, (counts.get(token) ?? 0) + 1);
  }
  const chiSquare = [...expected].reduce((sum, [id, probability]) => {
    const want = probability * draws;
    return sum + ((counts.get(id) ?? 0) - want) ** 2 / want;
  }, 0);
  assert.deepEqual([...counts.keys()].sort(), [...expected.keys()], 'only what the chain leaves');
  assert.ok(chiSquare < 35, `chi-square ${chiSquare} with ${expected.size - 1} degrees of freedom`);
});

test('a draw depends on seed and position alone', () => {
  const logits = someLogits(200, 3);
  const tokens = (seed: number, history: number[]) =>
    Array.from({ length: 50 }, (_, position) => {
      return sampleOne({ logits, parameters: { seed }, history, position }).token;
    });
  assert.deepEqual(tokens(5, [1, 2, 3]), tokens(5, [9, 9, 9]));
  assert.notDeepEqual(tokens(5, [1]), tokens(6, [1]));
  assert.notDeepEqual(tokens(5, [1]), tokens(5 + 2 ** 32, [1]), 'the high word counts');
});

test('the logits stay as they are, and a scratch serves row after row', () => {
  const logits = someLogits(300, 4);
  const before = logits.slice();
  const parameters = { ...DEFAULT_SAMPLING, repeatPenalty: 1.5, logitBias: new Map([[3, 20]]), topK: 0 };
  const scratch = new SamplingScratch(300);
  const history = [3, 3, 4, 5];
  for (const of of [parameters, { ...NEUTRAL, topP: 0.5 }, { typicalP: 0.3 }, parameters]) {
    const fresh = sampleOne({ logits, parameters: of, history });
    const reused = sampleOne({ logits, parameters: of, history, scratch });
    assert.equal(reused.token, fresh.token);
    assert.deepEqual(distributionOf(scratch), distributionOf(fresh.scratch));
  }
  assert.deepEqual(logits, before);
});

test('greedy takes the largest logit after bias and penalties, the lower id of two', () => {
  const logits = Float32Array.of(1, 3, 2, 3);
  const greedy = { temperature: 0, topK: 1, topP: 0.1, typicalP: 0.1 };
  assert.equal(sampleOne({ logits, parameters: greedy }).token, 1);
  assert.equal(sampleOne({ logits, parameters: { ...greedy, logitBias: new Map([[2, 5]]) } }).token, 2);
  const penalized = { ...greedy, repeatPenalty: 4 };
  assert.equal(sampleOne({ logits, parameters: penalized, history: [1, 3] }).token, 2);
});

test('ties break by the lower id', () => {
  const logits = Float32Array.of(0, 0, 0, 0, -9);
  const left = (parameters: Partial<typeof NEUTRAL>) => [
    ...distributionOf(sampleOne({ logits, parameters }).scratch).keys(),
  ];
  assert.deepEqual(left({ topK: 2 }), [0, 1]);
  assert.deepEqual(left({ topP: 0.7 }), [0, 1, 2]);
  assert.deepEqual(left({ minP: 1 }), [0, 1, 2, 3]);
});

test('sums of 0 keep one token, k of more than there are keeps all', () => {
  const logits = someLogits(20, 8);
  const left = (parameters: Partial<typeof NEUTRAL>) =>
    distributionOf(sampleOne({ logits, parameters }).scratch).size;
  assert.equal(left({ topP: 0 }), 1);
  assert.equal(left({ typicalP: 0 }), 1);
  assert.equal(left({ topK: 1 }), 1);
  assert.equal(left({ topK: 20 }), 20);
  assert.equal(left({ topK: 2 ** 31 - 1 }), 20);
  assert.equal(left({}), 20);
});

const lone = Float32Array.from({ length: 8 }, (_, i) => (i === 5 ? -3 : Number.NEGATIVE_INFINITY));
const chain = { topK: 3, typicalP: 0.9, topP: 0.9, minP: 0.1, temperature: 0.5 };

test('a lone token is chosen by every chain', () => {
  for (const parameters of [{}, chain, { temperature: 0 }, { topP: 0 }, { typicalP: 0.5 }]) {
    assert.equal(sampleOne({ logits: lone, parameters }).token, 5);
  }
});

test('logits that are no numbers choose nothing, and tokens that are all forbidden neither', () => {
  const nonFinite = [
    Float32Array.of(1, 2, Number.NaN, 3),
    Float32Array.of(3, Number.POSITIVE_INFINITY, 9, Number.NEGATIVE_INFINITY),
    new Float32Array(4).fill(Number.NaN),
    new Float32Array(4).fill(Number.NEGATIVE_INFINITY),
  ];
  const logits = Float32Array.of(1, 2, Number.NEGATIVE_INFINITY, 3);
  const none = new Map([0, 1, 3].map((id) => [id, Number.NEGATIVE_INFINITY]));
  for (const parameters of [{}, chain, { temperature: 0 }, { logitBias: new Map([[2, -Infinity]]) }]) {
    for (const of of nonFinite) {
      assert.equal(sampleOne({ logits: of, parameters, history: [0] }).token, NO_TOKEN.nonFinite);
    }
    assert.ok([0, 1, 3].includes(sampleOne({ logits, parameters, history: [0] }).token));
    const forbidden = sampleOne({ logits, parameters: { ...parameters, logitBias: none }, history: [0] });
    assert.equal(forbidden.token, NO_TOKEN.forbidden);
  }
});

test('logits are sound that are numbers or -Infinity, of any magnitude', () => {
  const numbers = [0, -0, 1e-45, -1e-38, 3.4028234663852886e38, -3.4028234663852886e38, -Infinity];
  assert.ok(areValidLogits(Float32Array.from(numbers)));
  for (const value of [Number.NaN, Number.POSITIVE_INFINITY]) {
    for (let at = 0; at < numbers.length; at++)
      assert.ok(!areValidLogits(Float32Array.from(numbers).fill(value, at, at + 1)));
  }
  assert.ok(!areValidLogits(Float32Array.of(-Infinity)));
});

/** The pairs of a report. */
function pairsOf(report: Float32Array): [number, number][] {
  const ids = new Int32Array(report.buffer);
  return Array.from({ length: report.length / 2 }, (_, i) => [
    ids[2 * i] as number,
    report[2 * i + 1] as number,
  ]);
}

test('log-probabilities are those of the raw logits, whatever the stages do', () => {
  const logits = someLogits(1000, 12);
  const report = new Float32Array(8).fill(7);
  const parameters = { ...chain, logitBias: new Map([[17, 50]]), logProbabilities: 2 };
  const { token } = sampleOne({ logits, parameters, report });
  assert.equal(token, 17);
  const total = Math.log([...logits].reduce((sum, logit) => sum + Math.exp(logit), 0));
  const order = [...logits.keys()].sort((a, b) => (logits[b] as number) - (logits[a] as number) || a - b);
  const expected = [17, ...order.slice(0, 2)];
  pairsOf(report).forEach(([id, logarithm], i) => {
    if (i === 3) assert.equal(logarithm, 7, 'beyond what was asked nothing is written');
    else {
      assert.equal(id, expected[i]);
      assert.ok(Math.abs(logarithm - ((logits[id] as number) - total)) < 1e-6);
    }
  });
});

test('a report says where there is nothing to tell', () => {
  const report = new Float32Array(6);
  sampleOne({ logits: lone, parameters: { logProbabilities: 2 }, report });
  assert.deepEqual(pairsOf(report), [
    [5, 0],
    [5, 0],
    [0, -Infinity],
  ]);
  const nothing = new Float32Array(4).fill(3);
  sampleOne({ logits: Float32Array.of(Number.NaN, 1), parameters: { logProbabilities: 1 }, report: nothing });
  assert.deepEqual(pairsOf(nothing)[0], [NO_TOKEN.nonFinite, Number.NaN]);
  assert.deepEqual([...nothing.subarray(2)], [3, 3], 'no alternatives are written');
  const untouched = new Float32Array(2).fill(3);
  sampleOne({ logits: lone, parameters: { logProbabilities: -1 }, report: untouched });
  assert.deepEqual([...untouched], [3, 3]);
});

test('maxima of blocks change nothing', () => {
  const size = 3 * MAXIMA_BLOCK + 5;
  const maximaOf = (logits: Float32Array): BlockMaxima => ({
    values: Float32Array.from({ length: Math.ceil(size / MAXIMA_BLOCK) }, (_, at) =>
      Math.max(...logits.subarray(MAXIMA_BLOCK * at, MAXIMA_BLOCK * (at + 1))),
    ),
    hasSpecial: logits.some((logit) => !Number.isFinite(logit)),
  });
  const plain = someLogits(size, 9);
  const tied = plain.map((logit, id) => (id % 50 === 49 ? 9 : logit));
  const forbidding = plain.map((logit, id) => (id < 2 * MAXIMA_BLOCK ? -Infinity : logit));
  const broken = plain.map((logit, id) => (id === size - 1 ? Number.NaN : logit));
  const rows = [plain, tied, forbidding, broken, new Float32Array(size).fill(-Infinity)];
  const settings = [
    { temperature: 0 },
    { temperature: 0, logProbabilities: 7 },
    { topK: 1, logProbabilities: 0 },
    { topK: 70, logProbabilities: MAX_LOG_PROBABILITIES },
    { topK: 0, topP: 0.9 },
    { topK: 12, repeatPenalty: 1.5, logitBias: new Map([[size - 2, 20]]) },
  ];
  for (const logits of rows) {
    for (const parameters of settings) {
      const sampled = (maxima?: BlockMaxima) => {
        const report = new Float32Array(2 * (1 + MAX_LOG_PROBABILITIES));
        const of = { logits, parameters, history: [1, 2, size - 3], report };
        return { token: sampleOne({ ...of, ...(maxima && { maxima }) }).token, report };
      };
      assert.deepEqual(sampled(maximaOf(logits)), sampled());
    }
  }
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type ChainParameters,
  type ChainToken,
  DEFAULT_HOST_SAMPLING,
  NO_TOKEN,
  SamplerChain,
  type SamplerName,
  SAMPLERS,
  type SamplingParameters,
  SamplingScratch,
} from '../../../src/ops/index.ts';
import fc from '../../support/fast-check.ts';
import { distributionOf, NEUTRAL, sampleOne, someLogits } from './sampling-setup.ts';

const USUAL = SAMPLERS.slice(0, -1);
const CHAIN: ChainParameters = {
  ...DEFAULT_HOST_SAMPLING,
  samplers: USUAL,
  dry: undefined,
  reportsDrawn: false,
  namedTokens: [],
};

interface Sampled {
  readonly token: ChainToken;
  /** The distribution that the token was drawn from. */
  readonly left: Map<number, number>;
}

/** Samples one token. */
function sampled(
  logits: Float32Array,
  parameters: Partial<SamplingParameters>,
  chain: Partial<ChainParameters>,
  ids: readonly number[] = [0],
): Sampled {
  const scratch = new SamplingScratch(logits.length);
  const made = new SamplerChain({ ...NEUTRAL, ...parameters }, { ...CHAIN, ...chain });
  const token = made.sample({ logits, ids, mask: undefined, scratch });
  return { token, left: distributionOf(scratch) };
}

/** Logits of these probabilities, as llama.cpp's tests have them. */
const logitsOf = (...probabilities: number[]): Float32Array => Float32Array.from(probabilities, Math.log);

test('in the usual order a chain draws what the device draws', () => {
  const float = (min: number, max: number) => fc.double({ min, max, noNaN: true }).map(Math.fround);
  const parameters = fc.record({
    temperature: fc.oneof(fc.constant(0), float(0.2, 3)),
    topK: fc.nat(60),
    topP: float(0.1, 1),
    minP: float(0, 0.3),
    typicalP: float(0.3, 1),
    topNSigma: fc.oneof(fc.constant(0), float(0.5, 3)),
    xtcProbability: fc.constantFrom(0, 0.5, 1),
    xtcThreshold: float(0.05, 0.5),
    dynatempRange: fc.constantFrom(0, 0.4),
    repeatPenalty: float(0.8, 1.8),
    frequencyPenalty: float(0, 1),
    penaltyWindow: fc.integer({ min: -1, max: 20 }),
    logProbabilities: fc.constant(3),
    seed: fc.nat(),
  });
  fc.assert(
    fc.property(parameters, fc.integer({ min: 1 }), (of, seed) => {
      const logits = someLogits(50, seed);
      const ids = Array.from({ length: 30 }, (_, i) => (i * seed) % 50);
      const report = new Float32Array(8);
      const device = sampleOne({ logits, parameters: of, history: ids, report });
      const { token } = sampled(logits, of, {}, ids);
      assert.equal(token.id, device.token);
      assert.ok(Math.abs((token.logProbability ?? 0) - (report[1] as number)) < 1e-5);
      const bits = new Int32Array(report.buffer);
      assert.deepEqual(
        token.alternatives.map(({ id }) => id),
        [bits[2], bits[4], bits[6]],
      );
    }),
    { numRuns: 300 },
  );
});

/** llama.cpp's checks of a queue of samplers on logits that are the logarithms of the ids. */
function assertQueue(order: string, topK: number, topP: number, minP: number): void {
  const count = 1000;
  const logits = Float32Array.from({ length: count }, (_, id) => Math.log(id));
  const named: Readonly<Record<string, SamplerName>> = { k: 'top_k', p: 'top_p', m: 'min_p' };
  let least = 0;
  for (let upto = 1; upto <= order.length; upto++) {
    const samplers = [...order.slice(0, upto)].map((letter) => named[letter] as SamplerName);
    const { left } = sampled(logits, { topK, topP, minP }, { samplers });
    const letter = order[upto - 1];
    const size = count - least;
    if (letter === 'k') least = Math.max(least, count - topK);
    if (letter === 'p') {
      const total = ((count - least) * (count - 1 + least)) / 2;
      let sum = 0;
      let next = count;
      do sum += --next;
      while (sum < topP * total && next > Math.max(1, least));
      least = next;
    }
    if (letter === 'm') least = Math.max(least, Math.min(count - 1, Math.ceil(minP * (count - 1) - 1e-9)), 1);
    assert.deepEqual(Math.min(...left.keys()), Math.max(1, least), `${order} up to ${letter}`);
    assert.equal(Math.max(...left.keys()), count - 1);
    assert.ok(left.size <= size);
  }
}

test('samplers run in the order that is asked for', () => {
  for (const order of ['kpm', 'kmp', 'pkm', 'pmk', 'mkp', 'mpk']) assertQueue(order, 100, 0.8, 0.1);
  const logits = logitsOf(0.1, 0.2, 0.3, 0.4);
  const parameters = { temperature: 0.25, topP: 0.7 };
  assert.deepEqual(
    [...sampled(logits, parameters, { samplers: ['top_p', 'temperature'] }).left.keys()],
    [2, 3],
  );
  assert.deepEqual([...sampled(logits, parameters, { samplers: ['temperature', 'top_p'] }).left.keys()], [3]);
  const named = sampled(logits, { topK: 1, topP: 0.6 }, { samplers: ['top_p'] });
  assert.equal(named.left.size, 2, 'those that are not named are off');
  const penalized = { repeatPenalty: 50, topK: 1 };
  assert.equal(sampled(logits, penalized, { samplers: ['top_k', 'penalties'] }, [3]).token.id, 3);
  assert.equal(sampled(logits, penalized, { samplers: ['penalties', 'top_k'] }, [3]).token.id, 2);
});

test('minKeep tokens are left, with llama.cpp’s probabilities', () => {
  const logits = logitsOf(0.1, 0.2, 0.3, 0.4);
  const left = (parameters: Partial<SamplingParameters>, minKeep: number) =>
    [...sampled(logits, parameters, { minKeep }).left.keys()].sort();
  assert.deepEqual(left({ topP: 0 }, 0), [3]);
  assert.deepEqual(left({ topP: 0 }, 3), [1, 2, 3]);
  assert.deepEqual(left({ minP: 0.76 }, 0), [3]);
  assert.deepEqual(left({ minP: 0.76 }, 2), [2, 3]);
  assert.deepEqual(left({ minP: 0.26 }, 2), [1, 2, 3], 'more may be left');
  assert.equal(left({ typicalP: 0.1 }, 3).length, 3);
  assert.deepEqual(left({ xtcProbability: 1, xtcThreshold: 0.15 }, 2), [0, 1]);
  assert.deepEqual(left({ xtcProbability: 1, xtcThreshold: 0.15 }, 3), [0, 1, 2, 3], 'or XTC does nothing');
  assert.deepEqual(left({ topK: 1 }, 3), [3], 'top-k is as it is');
  assert.equal(left({ topP: 0.5 }, 99).length, 4);
});

/** The surprise of the tokens that a chain draws, in bits, and the chances that they were drawn with. */
function surprises(chain: Partial<ChainParameters>, tokens: number): number[] {
  const logits = Float32Array.from({ length: 2000 }, (_, id) => -1.1 * Math.log(id + 1));
  const scratch = new SamplingScratch(logits.length);
  const sampling = { ...NEUTRAL, seed: 5, logProbabilities: 0 };
  const made = new SamplerChain(sampling, { ...CHAIN, ...chain, reportsDrawn: true });
  return Array.from({ length: tokens }, (_, i) => {
    const ids = new Array<number>(i + 1).fill(0);
    const { logProbability = 0 } = made.sample({ logits, ids, mask: undefined, scratch });
    return -logProbability / Math.LN2;
  });
}

test('both versions of mirostat bring the mean surprise to the target', () => {
  for (const mirostat of [1, 2]) {
    for (const mirostatTau of [2, 4]) {
      const all = surprises({ mirostat, mirostatTau, mirostatEta: 0.1 }, 400).slice(100);
      const mean = all.reduce((sum, bits) => sum + bits, 0) / all.length;
      assert.ok(Math.abs(mean - mirostatTau) < 0.4, `version ${mirostat}: ${mean} for ${mirostatTau}`);
    }
  }
});

test('mirostat 2 drops what is more surprising than mu, and follows the drawn token', () => {
  const logits = logitsOf(0.5, 0.25, 0.125, 0.0625, 0.0625);
  const scratch = new SamplingScratch(5);
  const chain = new SamplerChain(NEUTRAL, { ...CHAIN, mirostat: 2, mirostatTau: 1.1, mirostatEta: 0.5 });
  let mu = 2.2;
  for (let i = 1; i < 40; i++) {
    const { id } = chain.sample({ logits, ids: new Array<number>(i).fill(0), mask: undefined, scratch });
    const kept = [0, 1, 2, 3, 4].filter(
      (at) => -Math.log2([0.5, 0.25, 0.125, 0.0625, 0.0625][at] ?? 0) <= mu,
    );
    const left = distributionOf(scratch);
    assert.deepEqual([...left.keys()], kept.length > 0 ? kept : [0]);
    mu -= 0.5 * (-Math.log2(left.get(id) ?? 0) - 1.1);
  }
});

test('mirostat 1 keeps as many tokens as its estimate of Zipf’s law says', () => {
  const count = 400;
  // Exactly by the law, with exponent 1.5: the estimate is then the exponent itself.
  const logits = Float32Array.from({ length: count }, (_, id) => -1.5 * Math.log(id + 1));
  const { left } = sampled(logits, {}, { mirostat: 1, mirostatTau: 2 });
  const expected = Math.trunc(((0.5 * 2 ** 4) / (1 - count ** -0.5)) ** (1 / 1.5));
  assert.equal(left.size, expected);
});

test('mirostat replaces the other samplers but for bias and temperature', () => {
  const logits = logitsOf(0.1, 0.2, 0.3, 0.4);
  const off = { topK: 1, minP: 0.9, repeatPenalty: 50, logitBias: new Map([[3, -Infinity]]) };
  const { left } = sampled(logits, off, { mirostat: 2, mirostatTau: 50 }, [2]);
  assert.deepEqual([...left.keys()], [0, 1, 2]);
  assert.equal(sampled(logits, { temperature: 0 }, { mirostat: 2 }).token.id, 3);
});

test('adaptive-p draws tokens near its target', () => {
  const logits = logitsOf(0.6, 0.25, 0.1, 0.05);
  const samplers: SamplerName[] = ['adaptive_p'];
  const { left } = sampled(logits, {}, { samplers, adaptiveTarget: 0.25, adaptiveDecay: 0 });
  const [likeliest] = [...left].sort(([, a], [, b]) => b - a);
  assert.equal(likeliest?.[0], 1);
  const off = sampled(logits, {}, { samplers, adaptiveTarget: -1 });
  assert.ok(Math.abs((off.left.get(0) ?? 0) - 0.6) < 1e-6);
});

test('named tokens are reported as they are before any sampler', () => {
  const logits = logitsOf(0.1, 0.2, 0.3, 0.4);
  const { token } = sampled(logits, { topK: 1, temperature: 0.1 }, { namedTokens: [0, 2] });
  const { named = [] } = token;
  assert.deepEqual(
    named.map(({ id, logProbability }) => [id, Math.exp(logProbability).toFixed(4)]),
    [
      [0, '0.1000'],
      [2, '0.3000'],
    ],
  );
  assert.equal(token.logProbability, undefined);
});

test('reports of the drawn distribution have what the samplers left', () => {
  const logits = logitsOf(0.1, 0.2, 0.3, 0.4);
  const { token } = sampled(logits, { topK: 2, logProbabilities: 4 }, { reportsDrawn: true });
  assert.deepEqual(
    token.alternatives.map(({ id, logProbability }) => [id, Math.exp(logProbability).toFixed(4)]),
    [
      [3, '0.5714'],
      [2, '0.4286'],
    ],
  );
});

test('what cannot be sampled is not', () => {
  const none = Float32Array.of(0, Number.NaN);
  assert.equal(sampled(none, {}, {}).token.id, NO_TOKEN.nonFinite);
  const forbidden = new Map([0, 1].map((id) => [id, -Infinity]));
  for (const mirostat of [0, 1, 2]) {
    const { token } = sampled(Float32Array.of(1, 2), { logitBias: forbidden }, { mirostat });
    assert.equal(token.id, NO_TOKEN.forbidden);
  }
});

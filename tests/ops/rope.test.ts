import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type RopeParameters, RopeAngles } from '../../src/ops/index.ts';

/** Angle and magnitude of each pair at a position. */
function turnsAt(parameters: RopeParameters, position: number, factors?: readonly number[]) {
  const out = new Float32Array(parameters.dimensions);
  new RopeAngles(parameters, factors).fill(position, out);
  return Array.from({ length: parameters.dimensions / 2 }, (_, i) => {
    const [cos, sin] = [out[2 * i] as number, out[2 * i + 1] as number];
    return { angle: Math.atan2(sin, cos), magnitude: Math.hypot(cos, sin) };
  });
}

function assertClose(actual: number, expected: number, tolerance = 1e-5): void {
  assert.ok(
    Math.abs(actual - expected) <= tolerance * Math.max(1, Math.abs(expected)),
    `${actual} ${expected}`,
  );
}

const PLAIN: RopeParameters = { dimensions: 8, base: 10_000, scaling: { kind: 'none' } };

test('frequencies fall from 1 by powers of the base', () => {
  turnsAt(PLAIN, 1).forEach(({ angle, magnitude }, i) => {
    assertClose(angle, 10_000 ** ((-2 * i) / 8));
    assertClose(magnitude, 1);
  });
  turnsAt(PLAIN, 3).forEach(({ angle }, i) => {
    assertClose(angle, 3 * 10_000 ** ((-2 * i) / 8));
  });
  for (const { angle } of turnsAt(PLAIN, 0)) assert.equal(angle, 0);
});

test('linear scaling divides positions, factors divide frequencies', () => {
  const linear: RopeParameters = { ...PLAIN, scaling: { kind: 'linear', factor: 4 } };
  const plain = turnsAt(PLAIN, 2).map(({ angle }) => angle);
  turnsAt(linear, 8).forEach(({ angle }, i) => {
    assertClose(angle, plain[i] ?? 0);
  });
  const factors = [1, 2, 4, 8];
  turnsAt(PLAIN, 2, factors).forEach(({ angle }, i) => {
    assertClose(angle, (plain[i] ?? 0) / (factors[i] ?? 1));
  });
});

const YARN = {
  kind: 'yarn',
  factor: 16,
  originalContext: 4096,
  extrapolation: 1,
  attention: 1,
  betaFast: 32,
  betaSlow: 1,
} as const;

/**
 * The paper's own terms (section 3.2): a pair that turns `r` times over the trained context keeps its frequency for r above
 * betaFast and is interpolated for r below betaSlow. At 128 dimensions, base 10 000 and 4096 positions the ramp runs from
 * pair 20 to pair 46: 64 ln(4096 / 2 pi r) / ln 10 000 is 20.94 for r = 32 and 45.03 for r = 1.
 */
test('yarn keeps fast pairs, interpolates slow ones and blends between', () => {
  const parameters: RopeParameters = { dimensions: 128, base: 10_000, scaling: YARN };
  const turns = turnsAt(parameters, 1);
  const frequency = (i: number) => 10_000 ** (-i / 64);
  const share = (i: number) => 1 - Math.min(1, Math.max(0, (i - 20) / (46 - 20)));
  turns.forEach(({ angle, magnitude }, i) => {
    assertClose(magnitude, 1 + 0.1 * Math.log(16));
    assertClose(angle, frequency(i) * (share(i) + (1 - share(i)) / 16));
  });
  assertClose(turns[20]?.angle ?? 0, frequency(20));
  assertClose(turns[46]?.angle ?? 0, frequency(46) / 16);
  assertClose(turns[33]?.angle ?? 0, frequency(33) * (0.5 + 0.5 / 16));
});

test('yarn without extrapolation interpolates everything and does not stretch', () => {
  const parameters: RopeParameters = {
    dimensions: 16,
    base: 10_000,
    scaling: { ...YARN, extrapolation: 0, attention: 0.5 },
  };
  turnsAt(parameters, 16).forEach(({ angle, magnitude }, i) => {
    assertClose(magnitude, 0.5);
    assertClose(angle, 10_000 ** (-i / 8));
  });
});

test('a row may be written anywhere in a table', () => {
  const out = new Float32Array(24).fill(9);
  new RopeAngles(PLAIN).fill(5, out, 8);
  const alone = new Float32Array(8);
  new RopeAngles(PLAIN).fill(5, alone);
  assert.deepEqual([...out], [...new Array<number>(8).fill(9), ...alone, ...new Array<number>(8).fill(9)]);
});

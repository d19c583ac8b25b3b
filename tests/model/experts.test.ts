import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type RoutingRule, RowRouter } from '../../src/ops/index.ts';

const RULE: RoutingRule = {
  topK: 2,
  gate: 'softmax',
  normalized: false,
  scale: 1,
  groups: 1,
  topKGroups: 1,
};

/** Weights as fractions of `whole`, rounded: gates of `ln n` are `n` of their sum. */
function routed(gates: readonly number[], rule: Partial<RoutingRule> = {}, bias?: readonly number[]) {
  const whole = gates.reduce((a, b) => a + b, 0);
  const router = new RowRouter({ ...RULE, ...rule }, gates.length);
  // What a row leaves must not reach the next one.
  router.route(gates.map((gate) => -gate));
  router.route(gates.map(Math.log), { bias });
  const { expertIds, routingWeights } = router;
  return {
    experts: [...expertIds],
    weights: [...routingWeights].map((weight) => Math.round(weight * whole * 1e6) / 1e6),
  };
}

test('rows go to the experts with the largest gates, of equal ones to the first', () => {
  assert.deepEqual(routed([1, 4, 2, 3]), { experts: [1, 3], weights: [4, 3] });
  assert.deepEqual(routed([1, 2, 2, 2]), { experts: [1, 2], weights: [2, 2] });
  assert.deepEqual(routed([1, 4, 2, 1], { normalized: true, scale: 3 }), {
    experts: [1, 2],
    weights: [16, 8],
  });
});

test('a bias counts for the choice alone', () => {
  assert.deepEqual(routed([1, 4, 2, 3], {}, [1, 0, 0, 0]), { experts: [0, 1], weights: [1, 4] });
});

test('experts are chosen out of the groups whose two best have the largest sum', () => {
  const groups = { groups: 2, topKGroups: 1 };
  assert.deepEqual(routed([5, 1, 1, 4, 3, 1], groups), { experts: [3, 4], weights: [4, 3] });
  assert.deepEqual(routed([5, 3, 1, 4, 3, 1], groups), { experts: [0, 1], weights: [5, 3] });
});

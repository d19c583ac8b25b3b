import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type GpuFacts, type Intent, type OptionalKind, planGraph } from '../../src/device/index.ts';
import { syntheticShape } from '../../src/model/synthetic/shapes.ts';
import type { OpGraph } from '../../src/ops/index.ts';
import { ALL_CASES } from '../support/contract/cases/index.ts';
import { chainCase } from '../support/contract/cases/low-rank.ts';
import { caseGraph } from '../support/hip-cuda/lowered-modules.ts';
import { LISTED_MODELS, LISTED_TARGETS, listedGraphs } from '../support/launch-lists.ts';
import { replayPlan } from '../support/replay-plan.ts';
import { splitLayer } from '../support/split-layer.ts';

/** All of them: the compiler says which one is not here. */
const OPTIONAL: Readonly<Record<OptionalKind, true>> = {
  matvecGroup: true,
  libraryProduct: true,
  round: true,
  roundedProduct: true,
  splitHalves: true,
  splitProduct: true,
  elementProducts: true,
  elementChain: true,
  headsNormAppend: true,
  attentionTiles: true,
  gatedExperts: true,
  addedExperts: true,
  combineResidual: true,
  normResidual: true,
  reduceResidual: true,
  pushedSum: true,
  gatedNorm: true,
  shiftLerps: true,
  fusedWkv7: true,
  fusedGatedDelta: true,
};

const KINDS = Object.keys(OPTIONAL) as OptionalKind[];

/** The intents of a plan, which it may choose. */
function check(graph: OpGraph, facts: GpuFacts, label: string): readonly Intent[] {
  const intents: readonly Intent[] = planGraph(graph, facts);
  for (const { kind } of intents) {
    assert.ok(!facts.lacks.some((lacked) => lacked === kind), `${label}: ${kind} was not to be chosen`);
  }
  replayPlan(graph, intents, label);
  return intents;
}

/** Checks the plans of a target as it is, without each of the intents that it chooses and can do without, and without any. */
function checkVariants(graph: OpGraph, facts: GpuFacts, label: string): void {
  const chosen = new Set<Intent['kind']>(check(graph, facts, label).map(({ kind }) => kind));
  for (const kind of KINDS.filter((one) => chosen.has(one))) {
    check(graph, { ...facts, lacks: [...facts.lacks, kind] }, `${label} without ${kind}`);
  }
  check(graph, { ...facts, lacks: KINDS }, `${label} without any`);
}

test('plans of all families compute everything in order and in the forms in which it is read, whatever a target lacks', async () => {
  for (const model of LISTED_MODELS) {
    const graphsFor = await listedGraphs(model);
    const graphs = [1, 4, 16, 64, 512].flatMap(graphsFor);
    for (const { name, facts } of LISTED_TARGETS) {
      for (const graph of graphs) checkVariants(graph, facts, `${model.name}, ${name}`);
    }
  }
});

test('so do plans of the operator contract', () => {
  for (const of of ALL_CASES) {
    const graph = caseGraph(of);
    for (const { name, facts } of LISTED_TARGETS) {
      const { length: planned } = check(graph, facts, `${of.name}, ${name}`);
      assert.ok(planned <= 2 * graph.ops.length, `${of.name}, ${name}: ${planned} intents`);
    }
  }
});

test('each link of a chain of low rank is launched with a large product beside it', () => {
  const graph = caseGraph(chainCase(1));
  for (const { name, facts } of LISTED_TARGETS.filter((target) => target.facts.mixesProducts)) {
    const intents: readonly Intent[] = planGraph(graph, facts);
    const launches = intents.flatMap((intent) =>
      intent.kind === 'elementProducts' ? [intent.products.map(({ op }) => op.weight.name)] : [],
    );
    assert.deepEqual(
      launches,
      [
        ['v', 'w1'],
        ['r', 'w2'],
      ],
      name,
    );
  }
});

test('what ranks add up takes the residual with it, and is sent by the product that computes it', async () => {
  const graph = await splitLayer(syntheticShape('llama-1b'), 2);
  const width = graph.outputs[0]?.tensor.width ?? assert.fail('a layer has an output');
  const kinds = ['pushedSum', 'reduceResidual', 'allReduce', 'add'] as const;
  for (const { name, facts } of LISTED_TARGETS) {
    const lacks = (kind: OptionalKind) => facts.lacks.some((lacked) => lacked === kind);
    const apart = lacks('reduceResidual') ? [0, 0, 2, 2] : [0, 2, 0, 0];
    for (const [mostPushed, sums] of [
      [0, apart],
      [width - 1, apart],
      [width, lacks('pushedSum') ? apart : [2, 0, 0, 0]],
    ] as const) {
      const intents: readonly Intent[] = planGraph(graph, { ...facts, mostPushed });
      const count = (kind: Intent['kind']) => intents.filter((intent) => intent.kind === kind).length;
      assert.deepEqual(kinds.map(count), sums, `${name}, up to ${mostPushed}`);
      replayPlan(graph, intents, name);
    }
  }
});

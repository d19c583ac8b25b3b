import { ConfigReader } from '../../src/model/config-reader.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import { openNullDevice } from '../../src/devices/null/index.ts';
import type { GgufFile, GgufPlan } from '../../src/gguf/index.ts';
import type { AttentionSpec } from '../../src/model/blocks/attention.ts';
import type { ModelConfig } from '../../src/model/model-config.ts';
import { ROPE } from '../../src/model/stacks/decoder.ts';
import { llama } from '../../src/model/architectures/llama.ts';
import { ExecutionPlan } from '../../src/plan/execution-plan.ts';
import { areOfOneKind, recordModel } from '../../src/model/model-graphs.ts';
import { AsyncModelLoader } from '../../src/load/async-model-loader.ts';
import type { BatchShape } from '../../src/ops/index.ts';
import { TINY, tinyModel } from '../support/tiny-model.ts';

type Changed = GgufPlan['metadata'] extends Iterable<infer Pair> ? Pair[] : never;

async function configOf(changed: Changed = []) {
  await using gguf = await tinyModel('F32', changed);
  return llama.configure(new ConfigReader(gguf.metadata, 'llama'));
}

/** The first layer's attention. */
function attentionOf({ layers }: ModelConfig): AttentionSpec {
  return layers[0]?.sublayers[0]?.block.spec as AttentionSpec;
}

const ropeOf = ({ embedding }: ModelConfig) => embedding.ropes?.[ROPE]?.parameters;

const f32 = (value: number) => ({ type: 'f32', value }) as const;
const u32 = (value: number) => ({ type: 'u32', value }) as const;
const text = (value: string) => ({ type: 'string', value }) as const;

test('sizes come from the metadata, with the usual fallbacks', async () => {
  const config = await configOf();
  assert.equal(config.width, TINY.width);
  const { keySize, window, scale } = attentionOf(config);
  assert.equal(keySize, TINY.width / TINY.heads);
  assert.equal(ropeOf(config)?.dimensions, keySize);
  assert.equal(ropeOf(config)?.base, 10000);
  assert.equal(window, undefined);
  assert.equal(scale, 1 / Math.sqrt(keySize));
});

test('rope scaling: none, linear, yarn, and a factor of zero is none', async () => {
  const scaling = async (changed: Changed) => ropeOf(await configOf(changed))?.scaling;
  assert.deepEqual(await scaling([]), { kind: 'none' });
  assert.deepEqual(
    await scaling([
      ['llama.rope.scaling.type', text('linear')],
      ['llama.rope.scaling.factor', f32(0)],
    ]),
    { kind: 'none' },
  );
  assert.deepEqual(await scaling([['llama.rope.scaling.factor', f32(4)]]), { kind: 'linear', factor: 4 });
  const yarn = await scaling([
    ['llama.rope.scaling.type', text('yarn')],
    ['llama.rope.scaling.factor', f32(8)],
    ['llama.rope.scaling.original_context_length', u32(64)],
  ]);
  assert.deepEqual(yarn, {
    kind: 'yarn',
    factor: 8,
    originalContext: 64,
    extrapolation: 1,
    attention: 1,
    betaFast: 32,
    betaSlow: 1,
  });
  await assert.rejects(
    scaling([
      ['llama.rope.scaling.type', text('spiral')],
      ['llama.rope.scaling.factor', f32(2)],
    ]),
    {
      code: 'MODEL_CONFIG',
    },
  );
});

test('contradictory metadata is refused with the key and what was expected', async () => {
  await assert.rejects(configOf([['llama.block_count', u32(0)]]), /llama\.block_count: found 0/);
  await assert.rejects(configOf([['llama.expert_count', u32(8)]]), /expert_used_count: found nothing/);
});

async function graphsOf(gguf: GgufFile) {
  const config = llama.configure(new ConfigReader(gguf.metadata, 'llama'));
  const tensors = new Map(gguf.tensors.map((tensor) => [tensor.name, tensor]));
  const shape = { rows: 8, outputs: 1, slots: 1, blocksPerSlot: 4 };
  const groups = [{ kind: 'paged', blocks: 4 }] as const;
  const options = { groups, cacheType: 'f16', tokens: 1, context: 128, alternatives: 0 } as const;
  const record = (of: BatchShape) => recordModel(config, tensors, { ...options, shape: of });
  const state = { groups, slots: 1, context: 128, checkpoints: false };
  return { tensors, shape, state, record, graphs: record(shape) };
}

test('layers of one kind record equal graphs, so that one program serves them', async () => {
  await using gguf = await tinyModel();
  const { graphs } = await graphsOf(gguf);
  const [first] = graphs.layers as [(typeof graphs.layers)[0]];
  assert.ok(graphs.layers.every(({ graph }) => areOfOneKind(graph, first.graph)));
  assert.ok(!areOfOneKind(graphs.head.graph, first.graph));
  assert.equal(graphs.layers.length, TINY.layers);
});

test('a tensor of the wrong shape is refused by name', async () => {
  await using gguf = await tinyModel('F32', [['llama.feed_forward_length', u32(100)]]);
  await assert.rejects(graphsOf(gguf), (error) => isRocmforgeError(error, 'MODEL_TENSOR_SHAPE'));
});

test('compiling reads and allocates nothing; the plan says what allocation takes', async () => {
  await using gguf = await tinyModel();
  const device = openNullDevice();
  await using plan = await ExecutionPlan.compile({
    device,
    inFlight: 2,
    context: 128,
    ...(await graphsOf(gguf)),
  });
  assert.equal(device.liveObjects(), 0);
  const { free } = await device.memory();
  const fit = plan.fit();
  await using loader = new AsyncModelLoader(device);
  await plan.allocate(fit, loader);
  const taken = free - (await device.memory()).free;
  const planned = fit.total - fit.ring;
  assert.ok(Math.abs(taken - planned) <= 0.02 * planned, `${taken} bytes were taken, ${planned} planned`);
});

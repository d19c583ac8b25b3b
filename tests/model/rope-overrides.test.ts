import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openNullDevice } from '../../src/devices/null/index.ts';
import type { GgufPlan } from '../../src/gguf/index.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import type { RopeOverrides } from '../../src/model/rope-overrides.ts';
import { describeModel } from '../../src/plan/parts/plan-options.ts';
import { GgufFile, GgufWriter } from '../../src/gguf/index.ts';
import { MemorySink, MemorySource } from '../../src/io/index.ts';
import { syntheticShape } from '../../src/model/synthetic/shapes.ts';
import { syntheticPlan } from '../../src/model/synthetic/synthetic-plan.ts';
import { format } from '../support/gguf-files.ts';
import { BUNDLED, runCli } from '../support/run-cli.ts';
import { tinyModel } from '../support/tiny-model.ts';

const f32 = (value: number) => ({ type: 'f32', value }) as const;
const u32 = (value: number) => ({ type: 'u32', value }) as const;
const text = (value: string) => ({ type: 'string', value }) as const;

function configOf(gguf: GgufFile, rope?: RopeOverrides) {
  return describeModel({ gguf, device: openNullDevice(), architectures: ALL_ARCHITECTURES }, { rope }).config;
}

/** The RoPE of a tiny Llama with these metadata and overrides. */
async function ropeOf(rope: RopeOverrides, changed: GgufPlan['metadata'] = []) {
  await using gguf = await tinyModel('F32', changed);
  return configOf(gguf, rope).embedding.ropes?.['rope']?.parameters;
}

const YARN: GgufPlan['metadata'] = [
  ['llama.rope.freq_base', f32(20_000)],
  ['llama.rope.scaling.type', text('yarn')],
  ['llama.rope.scaling.factor', f32(8)],
  ['llama.rope.scaling.original_context_length', u32(64)],
];

/** The header of a random model of this architecture; it has no tensors. */
async function headerOf(architecture: string): Promise<GgufFile> {
  const shape = { ...syntheticShape('tiny'), architecture };
  const plan = await syntheticPlan('synthetic', shape, { format: format('F32') });
  const sink = new MemorySink();
  await GgufWriter.begin(sink, { ...plan, tensors: [] });
  return GgufFile.open(new MemorySource(sink.bytes(), 'synthetic'));
}

test('overrides say what a file could have said', async () => {
  const asked = { base: 20_000, scaling: 'yarn', scale: 8, originalContext: 64 } as const;
  assert.deepEqual(await ropeOf(asked), await ropeOf({}, YARN));
  assert.deepEqual(await ropeOf({ scale: 4 }), await ropeOf({}, [['llama.rope.scaling.factor', f32(4)]]));
});

test('what is not overridden stays as in the file', async () => {
  const file = await ropeOf({}, YARN);
  assert.equal(file?.scaling.kind, 'yarn');
  const changed = await ropeOf({ scale: 2, betaFast: 16, attention: 1.5 }, YARN);
  assert.deepEqual(changed, {
    ...file,
    scaling: { ...file.scaling, factor: 2, betaFast: 16, attention: 1.5 },
  });
  assert.deepEqual((await ropeOf({ scaling: 'linear' }, YARN))?.scaling, { kind: 'linear', factor: 8 });
  assert.deepEqual((await ropeOf({ scaling: 'none' }, YARN))?.scaling, { kind: 'none' });
});

test('what no RoPE can have is refused by name', async () => {
  const refusal = (name: RegExp) => ({ code: 'INVALID_ARGUMENT', message: name });
  await assert.rejects(ropeOf({ scale: 0 }), refusal(/rope\.scale/));
  await assert.rejects(ropeOf({ base: Number.NaN }), refusal(/rope\.base/));
  await assert.rejects(ropeOf({ originalContext: 1.5 }), refusal(/rope\.originalContext/));
  await assert.rejects(ropeOf({ extrapolation: -1 }), refusal(/rope\.extrapolation/));
  await assert.rejects(ropeOf({ scaling: 'dynamic' as 'yarn' }), refusal(/none, linear, yarn/));
  await assert.rejects(ropeOf({ betta: 1 } as RopeOverrides), { code: 'OPTION_UNKNOWN' });
});

test('a model without RoPE has nothing to override', async () => {
  await using gguf = await headerOf('gpt2');
  assert.throws(() => configOf(gguf, { scale: 2 }), /rope\.scale.*gpt2, which has no RoPE/);
  assert.ok(configOf(gguf, {}));
});

test('layers with a window keep their base and factor, which they otherwise share', async () => {
  await using gguf = await headerOf('gemma2');
  const own = configOf(gguf).embedding.ropes;
  assert.deepEqual(Object.keys(own ?? {}), ['rope']);
  const changed = configOf(gguf, { base: 5e5, scale: 4 }).embedding.ropes;
  assert.deepEqual(changed?.['window rope']?.parameters, own?.['rope']?.parameters);
  const { dimensions } = own?.['rope']?.parameters ?? { dimensions: 0 };
  const expected = { dimensions, base: 5e5, scaling: { kind: 'linear', factor: 4 } };
  assert.deepEqual(changed?.['rope']?.parameters, expected);
  const asked = { scale: 8, originalContext: 32 } as const;
  await using yarn = await headerOf('gpt-oss');
  const { rope, 'window rope': windowed } = configOf(yarn, asked).embedding.ropes ?? {};
  const file = configOf(yarn).embedding.ropes?.['rope']?.parameters.scaling;
  assert.deepEqual(rope?.parameters.scaling, { ...file, factor: 8, originalContext: 32 });
  assert.deepEqual(windowed?.parameters.scaling, { ...file, originalContext: 32 });
});

test('flags have llama.cpp’s names, and inspect shows what they change', async (t) => {
  const inspect = ['inspect', BUNDLED, '--summary', '-d', 'reference'];
  const plain = await runCli(t, inspect);
  assert.match(plain.stdout, /^rope +base 1000000, 64 values of a head$/m);
  const scaled = await runCli(t, [
    ...inspect,
    ...['--rope-scaling', 'yarn', '--rope-freq-scale', '0.25', '--yarn-orig-ctx', '2048'],
    ...['--yarn-beta-fast', '16'],
  ]);
  assert.match(scaled.stdout, /^rope +base 1000000, .*, yarn x 4 of 2048 \(.*, beta 16 to 1\)$/m);
  const both = await runCli(t, [...inspect, '--rope-scale', '4', '--rope-freq-scale', '0.25']);
  assert.equal(both.code, 2);
});

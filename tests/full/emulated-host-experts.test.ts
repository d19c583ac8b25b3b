import assert from 'node:assert/strict';
import { LanguageModel, type ModelOptions } from '../../src/engine/language-model.ts';
import { Q4_K, Q8_0, type TensorFormat } from '../../src/formats/index.ts';
import { GgufFile, GgufWriter } from '../../src/gguf/index.ts';
import { MemorySink, MemorySource } from '../../src/io/index.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { writeRandomWeights } from '../../src/model/synthetic/random-weights.ts';
import { syntheticShape } from '../../src/model/synthetic/shapes.ts';
import { syntheticPlan } from '../../src/model/synthetic/synthetic-plan.ts';
import { type Emulator, emulatedTests } from '../support/hip-cuda/emulator.ts';
import { logitsOf } from '../support/prompt-chunk-tests.ts';

const emulated = await emulatedTests('gfx1100');

/** More rows than matrix-vector kernels take. */
const ROWS = 40;
const IDS = Array.from({ length: ROWS }, (_, i) => (7 * i + 3) % 61);
const SIZES = { width: 256, experts: 12, chosenExperts: 3, expertHidden: 256, context: 128 } as const;

async function mixture(architecture: string, format: TensorFormat): Promise<Uint8Array<ArrayBuffer>> {
  const shape = syntheticShape('tiny', { architecture, ...SIZES });
  const sink = new MemorySink();
  const writer = await GgufWriter.begin(sink, await syntheticPlan('mixture', shape, { format }));
  await writeRandomWeights(writer, { seed: 7 });
  return sink.bytes();
}

async function open(
  emulator: Emulator,
  bytes: Uint8Array<ArrayBuffer>,
  options: ModelOptions,
): Promise<LanguageModel> {
  const gguf = await GgufFile.open(new MemorySource(bytes, 'mixture.gguf'));
  const parts = { gguf, device: emulator.device(), architectures: ALL_ARCHITECTURES };
  return LanguageModel.open(parts, { context: 128, batch: ROWS, logitRows: ROWS, ...options });
}

async function say(model: LanguageModel): Promise<number[]> {
  const ids: number[] = [];
  const said = model.generate(IDS.slice(0, 2), { temperature: 0, maxTokens: 60, ignoreEnd: true });
  for await (const { token } of said) if (token) ids.push(token.id);
  return ids;
}

for (const [architecture, format] of [
  ['qwen3moe', Q4_K],
  ['gpt-oss', Q8_0],
  ['llama4', Q4_K],
] as const) {
  emulated(`${architecture} in ${format.name} says the same bits from the host`, async (emulator) => {
    const bytes = await mixture(architecture, format);
    await using whole = await open(emulator, bytes, {});
    const [logits, ids] = [await logitsOf(whole, IDS), await say(whole)];
    await using host = await open(emulator, bytes, { experts: 'host', expertSlots: 4 });
    assert.deepEqual(await logitsOf(host, IDS), logits);
    assert.deepEqual(await say(host), ids);
    assert.ok(host.counters.expertBytes > 0 && host.counters.expertHits > 0);
  });
}

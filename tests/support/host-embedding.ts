import assert from 'node:assert/strict';
import type { Device } from '../../src/device/index.ts';
import type { GenerateOptions } from '../../src/engine/generate-options.ts';
import { LanguageModel, type ModelOptions } from '../../src/engine/language-model.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { openDecoder } from '../../src/node/open-cpu.ts';
import { PER_LAYER_TABLE } from '../../src/model/embedding-place.ts';
import { openGguf } from '../../src/node/open-gguf.ts';
import { fixture } from './fixture.ts';
import { TINY, tinyModel } from './tiny-model.ts';

const PROMPTS = [[1, 2, 3], Array.from({ length: 21 }, (_, i) => 3 + ((i * 37) % 256)), [1, 9]];
const SIZES = { context: 48, batch: 8, logitRows: 4 } as const;

/** A model's results with its embedding in one of the places. */
async function answersOf(device: Device, format: string, options: ModelOptions) {
  const decoder = options.embedding === 'host' ? await openDecoder({ threads: 2 }) : undefined;
  const parts = {
    gguf: await tinyModel(format, [], { hasHead: true }),
    device,
    decoder,
    architectures: ALL_ARCHITECTURES,
  };
  const model = await LanguageModel.open(parts, { ...SIZES, ...options });
  const say = async (prompt: readonly number[], how: GenerateOptions) => {
    const ids: number[] = [];
    const stream = model.generate(prompt, { maxTokens: 6, ignoreEnd: true, seed: 4, ...how });
    for await (const { token } of stream) if (token) ids.push(token.id);
    return ids;
  };
  const texts = await Promise.all(PROMPTS.map((prompt, i) => say(prompt, { temperature: i % 2 })));
  const logits: Float32Array[] = [];
  for await (const found of model.evaluate(PROMPTS[1] ?? [], 15)) logits.push(found.logits.slice());
  const { fit } = model;
  await model.dispose();
  assert.equal(device.liveObjects(), 0);
  return { texts, logits, fit };
}

/** Checks that an embedding on the host does not change a bit of the results, and saves its memory on the device. */
export async function compareEmbeddingPlaces(
  open: () => Promise<Device>,
  format: string,
  options: ModelOptions = {},
): Promise<void> {
  const usual = await answersOf(await open(), format, options);
  const host = await answersOf(await open(), format, { ...options, embedding: 'host' });
  assert.deepEqual(host.texts, usual.texts);
  assert.equal(host.logits.length, 6);
  assert.deepEqual(host.logits, usual.logits);
  assert.ok(host.fit.host > 0 && usual.fit.host === 0);
  const saved = usual.fit.placement.weightBytes - host.fit.placement.weightBytes;
  assert.ok(saved >= 0.5 * TINY.width * TINY.vocabulary, `${saved} bytes`);
}

/**
 * Checks that a GPU leaves the table of per-layer embeddings on the host unless it is asked not to, which changes no
 * text.
 */
export async function comparePerLayerPlaces(open: () => Promise<Device>): Promise<void> {
  const path = fixture('families/gemma4-e.gguf');
  const answers = async (embedding?: 'device') => {
    await using device = await open();
    const gguf = await openGguf(path);
    const table = gguf.tensors.find(({ name }) => name === PER_LAYER_TABLE);
    const decoder = await openDecoder({ threads: 2 });
    const parts = { gguf, device, decoder, architectures: ALL_ARCHITECTURES };
    await using model = await LanguageModel.open(parts, { context: 48, batch: 8, sequences: 2, embedding });
    const texts = await Promise.all(
      [PROMPTS[0], PROMPTS[2]].map(async (prompt) => {
        const ids: number[] = [];
        const how = { maxTokens: 6, ignoreEnd: true, temperature: 0 };
        for await (const { token } of model.generate(prompt ?? [], how)) if (token) ids.push(token.id);
        return ids;
      }),
    );
    return { texts, fit: model.fit, bytes: table?.byteLength ?? 0 };
  };
  const [host, usual] = [await answers(), await answers('device')];
  assert.deepEqual(host.texts, usual.texts);
  assert.ok(host.bytes > 0);
  assert.deepEqual([host.fit.host, usual.fit.host], [host.bytes, 0]);
  assert.ok(usual.fit.placement.weightBytes - host.fit.placement.weightBytes >= host.bytes);
}

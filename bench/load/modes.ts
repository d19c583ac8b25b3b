import type { Device } from '../../src/device/index.ts';
import { LanguageModel } from '../../src/engine/language-model.ts';
import { LOAD_MODES, type LoadMode } from '../../src/engine/load-mode.ts';
import { AsyncModelLoader } from '../../src/load/async-model-loader.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { ExecutionPlan } from '../../src/model/execution-plan.ts';
import { openGguf } from '../../src/node/index.ts';

/** What a mode costs, in milliseconds. */
interface ModeTimes {
  /** From the open file and device to the model. */
  readonly open: number;
  /** From the same moment to the first token, for a prompt of each length. */
  readonly firstToken: readonly number[];
}

/** How much is prompted. */
const PROMPTS = [16, 512];

/** Prints the latency of each mode as a table, and what a layer costs first and cached. */
export async function printModes(path: string, openDevice: () => Promise<Device>): Promise<void> {
  const heads = PROMPTS.map((length) => `first token of ${length}`.padStart(20));
  console.log(`${'mode'.padEnd(12)}${'model open'.padStart(12)}${heads.join('')}`);
  for (const mode of LOAD_MODES) {
    const { open, firstToken } = await modeTimes(path, mode, openDevice);
    const cells = firstToken.map((ms) => `${ms.toFixed(1)} ms`.padStart(20));
    console.log(`${mode.padEnd(12)}${`${open.toFixed(1)} ms`.padStart(12)}${cells.join('')}`);
  }
  const { created, first, cached, hit } = await layerTimes(path, openDevice);
  console.log(`plan created without loading in ${created.toFixed(1)} ms`);
  console.log(`a layer's weights: first ${first.toFixed(2)} ms, cached ${(1000 * cached).toFixed(2)} us`);
  console.log(`a weight that is there: ${(1e6 * hit).toFixed(0)} ns`);
}

async function modeTimes(
  path: string,
  load: LoadMode,
  openDevice: () => Promise<Device>,
): Promise<ModeTimes> {
  const firstToken: number[] = [];
  let open = 0;
  for (const length of PROMPTS) {
    const parts = {
      gguf: await openGguf(path),
      device: await openDevice(),
      architectures: ALL_ARCHITECTURES,
    };
    const begin = performance.now();
    await using model = await LanguageModel.open(parts, { load, context: 1024 });
    open = performance.now() - begin;
    const prompt = Array.from({ length }, (_, i) => 3 + ((i * 37) % 200));
    await model.generate(prompt, { temperature: 0, maxTokens: 1, ignoreEnd: true }).text();
    firstToken.push(performance.now() - begin);
  }
  return { open, firstToken };
}

async function layerTimes(
  path: string,
  openDevice: () => Promise<Device>,
): Promise<{ created: number; first: number; cached: number; hit: number }> {
  await using gguf = await openGguf(path);
  await using device = await openDevice();
  await using loader = new AsyncModelLoader(device);
  const begin = performance.now();
  const source = { gguf, device, architectures: ALL_ARCHITECTURES };
  await using plan = await ExecutionPlan.fromGguf(source, loader, { context: 1024 });
  const created = performance.now() - begin;
  await plan.getOrLoadEmbedding();
  const layers = Array.from({ length: plan.layerCount }, (_, layer) => layer);
  const first = await eachOf(layers, (layer) => plan.getOrLoadLayerWeights(layer));
  const cached = await eachOf(layers, (layer) => plan.getOrLoadLayerWeights(layer));
  const [tensor] = await plan.getOrLoadEmbedding();
  if (!tensor) throw new Error('an embedding has a weight');
  const again = Array.from({ length: 100_000 }, (_, i) => i);
  const hit = await eachOf(again, () => tensor.ready());
  return { created, first, cached, hit };
}

async function eachOf(layers: readonly number[], work: (layer: number) => Promise<unknown>): Promise<number> {
  const begin = performance.now();
  for (const layer of layers) await work(layer);
  return (performance.now() - begin) / layers.length;
}

import type { Device } from '../../src/device/index.ts';
import { LanguageModel } from '../../src/engine/language-model.ts';
import { LOAD_MODES, type LoadMode } from '../../src/runtime/opening/load-mode.ts';
import { LoadTrace } from '../../src/load/load-trace.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { openGguf } from '../../src/node/index.ts';

/** The cost of a mode for a prompt of one length, in milliseconds after the file and the device were opened. */
interface ModeTimes {
  /** The part of it for planning: programs, memory, addresses; no weight is loaded. */
  readonly plan: number;
  /** Until the model is returned: planned, allocated, and loaded as the mode requires. */
  readonly open: number;
  /** Until the first token. */
  readonly firstToken: number;
  /** Until the last weight is on the device. */
  readonly lastByte: number;
  /** Until the first layer has been computed, if that was before all weights were loaded. */
  readonly firstLayer: number | undefined;
  /** The time per layer from the model to the first token, and for the same prompt again, with every weight loaded. */
  readonly layer: { readonly first: number; readonly cached: number };
}

/** Prompt lengths. */
const PROMPTS = [16, 512];

/** Prints the latency of each mode as a table, and the cost of a layer, first and cached. */
export async function printModes(path: string, openDevice: () => Promise<Device>): Promise<void> {
  const lengths = PROMPTS.flatMap((length) => [`first token of ${length}`, 'layer first / cached']);
  const heads = ['mode', 'plan', 'model open', ...lengths];
  const layers = ["a layer's weights", 'cached'];
  console.log(line([...heads, ...layers]));
  const notes: string[] = [];
  for (const mode of LOAD_MODES) {
    const times: ModeTimes[] = [];
    for (const length of PROMPTS) times.push(await modeTimes(path, { mode, length, openDevice }));
    const layer = await layerTimes(path, mode, openDevice);
    const [first] = times;
    const tokens = times.flatMap(({ firstToken, layer: share }) => [
      milliseconds(firstToken),
      `${share.first.toFixed(2)} / ${milliseconds(share.cached)}`,
    ]);
    const weights = [milliseconds(layer.first), `${(1000 * layer.cached).toFixed(1)} us`];
    console.log(
      line([mode, milliseconds(first?.plan ?? 0), milliseconds(first?.open ?? 0), ...tokens, ...weights]),
    );
    notes.push(...times.map((of, i) => `${mode}, prompt of ${PROMPTS[i]}: ${orderOf(of)}`));
    if (mode === 'lazy') notes.push(`a weight that is there: ${(1e6 * layer.hit).toFixed(0)} ns`);
  }
  console.log(notes.join('\n'));
}

function orderOf({ firstLayer, lastByte, firstToken }: ModeTimes): string {
  const layer = firstLayer === undefined ? 'all weights first' : `layer 0 at ${milliseconds(firstLayer)}`;
  return `${layer}, last weight at ${milliseconds(lastByte)}, token ${milliseconds(firstToken - lastByte)} later`;
}

async function modeTimes(
  path: string,
  of: { mode: LoadMode; length: number; openDevice: () => Promise<Device> },
): Promise<ModeTimes> {
  const trace = new LoadTrace();
  const parts = {
    gguf: await openGguf(path),
    device: await of.openDevice(),
    architectures: ALL_ARCHITECTURES,
  };
  const begin = performance.now();
  await using model = await LanguageModel.open(parts, { load: of.mode, context: 1024, trace });
  const open = performance.now() - begin;
  const prompt = Array.from({ length: of.length }, (_, i) => 3 + ((i * 37) % 200));
  const generate = () => model.generate(prompt, { temperature: 0, maxTokens: 1, ignoreEnd: true }).text();
  await generate();
  const firstToken = performance.now() - begin;
  const { breakdown } = await model.loaded;
  const ends = (row: string) => trace.spans.filter((span) => span.row.startsWith(row)).map(({ end }) => end);
  const lastByte = Math.max(begin, ...ends('stream'), ...ends('repack')) - begin;
  const [, layer] = ends('compute');
  const firstLayer = layer === undefined ? undefined : layer - begin;
  const { layerCount } = model.plan;
  // Whole steps are recorded on first use.
  for (let warm = 0; warm < 2; warm++) await repeat();
  const share = { first: (firstToken - open) / layerCount, cached: (await repeat()) / layerCount };
  return { plan: 1000 * breakdown.plan.sum, open, firstToken, lastByte, firstLayer, layer: share };

  async function repeat(): Promise<number> {
    model.reset();
    const again = performance.now();
    await generate();
    return performance.now() - again;
  }
}

/** The cost of a layer's weights after the model was returned: when requested first, and again. */
async function layerTimes(
  path: string,
  load: LoadMode,
  openDevice: () => Promise<Device>,
): Promise<{ first: number; cached: number; hit: number }> {
  const parts = { gguf: await openGguf(path), device: await openDevice(), architectures: ALL_ARCHITECTURES };
  await using model = await LanguageModel.open(parts, { load, context: 1024 });
  const { plan } = model;
  const layers = Array.from({ length: plan.layerCount }, (_, layer) => layer);
  const first = await eachOf(layers, (layer) => plan.getOrLoadLayerWeights(layer));
  const cached = await eachOf(layers, (layer) => plan.getOrLoadLayerWeights(layer));
  const [tensor] = await plan.getOrLoadEmbedding();
  if (!tensor) throw new Error('an embedding has a weight');
  const again = Array.from({ length: 100_000 }, (_, i) => i);
  const hit = await eachOf(again, () => tensor.ready());
  return { first, cached, hit };
}

async function eachOf(layers: readonly number[], work: (layer: number) => Promise<unknown>): Promise<number> {
  const begin = performance.now();
  for (const layer of layers) await work(layer);
  return (performance.now() - begin) / layers.length;
}

function milliseconds(ms: number): string {
  return `${ms.toFixed(1)} ms`;
}

function line(cells: readonly string[]): string {
  return cells.map((cell, i) => (i === 0 ? cell.padEnd(12) : cell.padStart(22))).join('');
}

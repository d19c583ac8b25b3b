import { fail } from '../../base/errors.ts';
import { type ModelGraphs, type ModelPart, mapParts, partsOf } from '../../model/model-graphs.ts';
import type { OpGraph } from '../../ops/graph.ts';
import { weightRowBytes } from '../../ops/value.ts';

/**
 * The model's graphs for a pipeline of devices: each layer is on the stage whose layers start at or before it, embedding, head, sampling
 * and what predicts drafts on the last one, where tokens are; a part that reads an earlier layer's caches is where these are. Throws
 * `INVALID_ARGUMENT` where a layer would read caches of another stage.
 */
export function stageGraphs(graphs: ModelGraphs, starts: readonly number[]): ModelGraphs {
  checkStarts(graphs, starts);
  const last = starts.length - 1;
  const stages = new Map(graphs.layers.map((part) => [part.prefix, stageOf(part, starts)]));
  const known = starts.map(() => new Map<OpGraph, OpGraph>());
  return mapParts(graphs, (part) => {
    const stage = stages.get(part.statePrefix ?? part.prefix) ?? last;
    const graph = known[stage]?.get(part.graph) ?? { ...part.graph, stage };
    known[stage]?.set(part.graph, graph);
    return { ...part, graph };
  });
}

/** The first layers of so many stages that have about as many bytes of weights each: those of no layer are the last stage's. */
export function evenStarts(graphs: ModelGraphs, stages: number): readonly number[] {
  const bytes = layerBytes(graphs);
  const legal = legalStarts(graphs);
  if (stages > legal.length) {
    const expected = `at most ${legal.length} stages for a model of ${bytes.length} layers`;
    fail('INVALID_ARGUMENT', { name: 'pipelineParallel', found: String(stages), expected });
  }
  const all = bytes.reduce((sum, of) => sum + of, 0) + bytesOfOthers(graphs);
  const starts = [0];
  for (let stage = 1; stage < stages; stage++) {
    const wanted = (all * stage) / stages;
    const distance = (start: number) =>
      Math.abs(bytes.slice(0, start).reduce((sum, of) => sum + of, 0) - wanted);
    const least = (starts.at(-1) as number) + 1;
    // Each of the stages behind it has a start of its own.
    const left = legal.filter((start) => start >= least).slice(0, stage - stages + 1 || undefined);
    starts.push(left.reduce((a, b) => (distance(b) < distance(a) ? b : a)));
  }
  return starts;
}

/** The layers at which a stage may start: those behind which no layer reads the caches of one before it. */
export function legalStarts({ layers }: ModelGraphs): readonly number[] {
  const count = layers.at(-1)?.order ?? 0;
  const owners = new Map(layers.map(({ prefix, order }) => [prefix, order - 1]));
  const legal = Array.from({ length: count }, (_, start) => start).filter((start) =>
    layers.every(({ order, prefix, statePrefix = prefix }) => {
      return order - 1 < start || (owners.get(statePrefix) ?? 0) >= start;
    }),
  );
  return [...legal, count];
}

/** Bytes of the weights of each layer, as in the file. */
export function layerBytes({ layers }: ModelGraphs): readonly number[] {
  const bytes: number[] = [];
  for (const part of layers) bytes[part.order - 1] = (bytes[part.order - 1] ?? 0) + bytesOf(part);
  return bytes;
}

/** Bytes of the weights of embedding, head and predictor; a table that several of them read counts once. */
export function bytesOfOthers(graphs: ModelGraphs): number {
  const layers = new Set(graphs.layers);
  const others = partsOf(graphs).filter((part) => !layers.has(part));
  const weights = others.flatMap(({ prefix, graph }) =>
    graph.weights.map((weight) => [prefix + weight.name, weight.rows * weightRowBytes(weight)] as const),
  );
  return [...new Map(weights).values()].reduce((sum, bytes) => sum + bytes, 0);
}

function bytesOf({ graph }: ModelPart): number {
  return graph.weights.reduce((sum, weight) => sum + weight.rows * weightRowBytes(weight), 0);
}

function stageOf({ order }: ModelPart, starts: readonly number[]): number {
  return starts.findLastIndex((start) => start <= order - 1);
}

function checkStarts(graphs: ModelGraphs, starts: readonly number[]): void {
  const legal = legalStarts(graphs);
  const wrong = starts.find((start) => !legal.includes(start));
  if (wrong === undefined) return;
  const count = layerBytes(graphs).length;
  const counts = legal.filter((start) => start > 0).map((start) => count - start + 1);
  const expected = `one of ${counts.join(', ')}: later layers read the caches of earlier ones, which have to be on one device`;
  fail('INVALID_ARGUMENT', { name: 'gpuLayers', found: String(count - wrong + 1), expected });
}

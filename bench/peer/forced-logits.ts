import { pathToFileURL } from 'node:url';

/** The reference program's results for one sequence, with the fields of a golden. */
export interface ReferenceSequence {
  readonly ids: readonly number[];
  /** The first position with results, if not 0. */
  readonly from?: number;
  readonly lse: readonly number[];
  readonly top: readonly (readonly [id: number, logit: number])[][];
  readonly next: readonly number[];
  readonly greedy: readonly number[];
}

/** Number of best logits that a golden has for each position. */
const BEST = 12;

/** Number of tokens that the reference generates after the last id. */
const GREEDY = 12;

/** The part of node-llama-cpp's interface that is used here. */
interface Peer {
  getLlama(options: object): Promise<{ loadModel(options: object): Promise<PeerModel> }>;
}

interface PeerModel {
  createEmbeddingContext(options: object): Promise<{
    getEmbeddingFor(ids: readonly number[]): Promise<{ vector: readonly number[] }>;
    dispose(): Promise<void>;
  }>;
  createRankingContext(options: object): Promise<{
    readonly _sequence: { evaluate(ids: number[], options: object): AsyncIterable<number> };
    readonly _llamaContext: { readonly _ctx: { getEmbedding(rows: number, width: number): Float64Array } };
    dispose(): Promise<void>;
  }>;
  createContext(options: object): Promise<{ getSequence(): PeerSequence; dispose(): Promise<void> }>;
}

interface PeerSequence {
  controlledEvaluate(
    input: readonly (readonly [token: number, options: object])[],
  ): Promise<readonly ({ next: { logits?: ReadonlyMap<number, number> } } | undefined)[]>;
}

/** What is computed with, and of what. */
interface ReferenceOptions {
  readonly adapters?: readonly { filePath: string; scale: number }[];
  /** The first position with results. Default 0. */
  readonly from?: number;
  /** Default: none. */
  readonly flashAttention?: boolean | undefined;
}

/** Computes goldens with llama.cpp's CPU build and an f32 KV cache. `module` is node-llama-cpp's path. */
export async function referenceSequences(
  module: string,
  modelPath: string,
  texts: readonly (readonly number[])[],
  { adapters = [], from = 0, flashAttention = false }: ReferenceOptions = {},
): Promise<ReferenceSequence[]> {
  const model = await openPeerModel(module, modelPath);
  const sequences: ReferenceSequence[] = [];
  for (const ids of texts) {
    // A new context for each, so that nothing is left of the previous text.
    const context = await model.createContext({
      contextSize: Math.max(64, ids.length + GREEDY),
      threads: { ideal: 1, min: 1 },
      ...(flashAttention && { flashAttention }),
      ...(adapters.length > 0 ? { lora: { adapters } } : {}),
    });
    sequences.push(await decode(context.getSequence(), ids, from));
    await context.dispose();
  }
  return sequences;
}

/** The reference program's embedding of a text. */
export interface ReferenceEmbedding {
  readonly ids: readonly number[];
  readonly vector: readonly number[];
}

/** Computes embeddings with llama.cpp's CPU build, with the model's pooling. */
export async function referenceEmbeddings(
  module: string,
  modelPath: string,
  texts: readonly (readonly number[])[],
): Promise<ReferenceEmbedding[]> {
  const model = await openPeerModel(module, modelPath);
  const embeddings: ReferenceEmbedding[] = [];
  for (const ids of texts) {
    const context = await model.createEmbeddingContext({ contextSize: 64, threads: 1 });
    const read = [...ids];
    const { vector } = await context.getEmbeddingFor(read);
    // The program may add ids around the text's.
    embeddings.push({ ids: read, vector: vector.map(rounded) });
    await context.dispose();
  }
  return embeddings;
}

/** The reference program's scores of a text, one per label. */
export interface ReferenceScores {
  readonly ids: readonly number[];
  readonly scores: readonly number[];
}

/** Computes the scores of models with a classifier with llama.cpp's CPU build, of exactly these ids. */
export async function referenceScores(
  module: string,
  modelPath: string,
  { texts, labels }: { texts: readonly (readonly number[])[]; labels: number },
): Promise<ReferenceScores[]> {
  const model = await openPeerModel(module, modelPath);
  const found: ReferenceScores[] = [];
  for (const ids of texts) {
    const context = await model.createRankingContext({ contextSize: 64, threads: 1 });
    // The library's own functions add ids and keep the first score only.
    const { _sequence: sequence, _llamaContext: inner } = context;
    for await (const _ of sequence.evaluate([...ids], { _noSampling: true })) break;
    found.push({ ids, scores: Array.from(inner._ctx.getEmbedding(ids.length, labels), rounded) });
    await context.dispose();
  }
  return found;
}

/** Opens a model whose contexts store keys and values in f32, without flash attention. */
async function openPeerModel(module: string, modelPath: string): Promise<PeerModel> {
  const { getLlama } = (await import(pathToFileURL(module).href)) as Peer;
  const llama = await getLlama({
    gpu: false,
    build: 'never',
    skipDownload: true,
    maxThreads: 1,
    logLevel: 'error',
  });
  return llama.loadModel({
    modelPath,
    gpuLayers: 0,
    defaultContextFlashAttention: false,
    experimentalDefaultContextKvCacheKeyType: 'F32',
    experimentalDefaultContextKvCacheValueType: 'F32',
  });
}

async function decode(
  sequence: PeerSequence,
  ids: readonly number[],
  from: number,
): Promise<ReferenceSequence> {
  const logits = await logitsOf(sequence, ids, from);
  const greedy = [bestOf(logits.at(-1))];
  while (greedy.length < GREEDY) greedy.push(bestOf((await logitsOf(sequence, greedy.slice(-1)))[0]));
  return {
    ids,
    ...(from > 0 && { from }),
    lse: logits.map((row) => rounded(logSumExp(row))),
    top: logits.map((row) =>
      ranked(row)
        .slice(0, BEST)
        .map(([id, logit]) => [id, rounded(logit)]),
    ),
    next: ids.slice(from + 1).map((id, at) => rounded(logits[at]?.get(id) ?? Number.NaN)),
    greedy,
  };
}

async function logitsOf(
  sequence: PeerSequence,
  ids: readonly number[],
  from = 0,
): Promise<ReadonlyMap<number, number>[]> {
  const options = { generateNext: { logits: true, token: true, options: { temperature: 0 } } };
  const results = await sequence.controlledEvaluate(ids.map((id, at) => [id, at < from ? {} : options]));
  return results.slice(from).map((result) => {
    if (!result?.next.logits) throw new Error('the reference gave no logits');
    return result.next.logits;
  });
}

function ranked(logits: ReadonlyMap<number, number>): [id: number, logit: number][] {
  return [...logits].sort(([, a], [, b]) => b - a);
}

function bestOf(logits: ReadonlyMap<number, number> | undefined): number {
  return ranked(logits ?? new Map())[0]?.[0] ?? -1;
}

function logSumExp(logits: ReadonlyMap<number, number>): number {
  const values = [...logits.values()];
  const largest = Math.max(...values);
  return largest + Math.log(values.reduce((sum, value) => sum + Math.exp(value - largest), 0));
}

function rounded(value: number): number {
  return Number(value.toPrecision(7));
}

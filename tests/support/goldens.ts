import { readFile } from 'node:fs/promises';
import { ForcedDecoding, type ForcedDecodingReport } from '../../src/evaluate/forced-decoding.ts';
import { type GoldenSequence, parseGolden } from '../../src/evaluate/golden.ts';
import type { LanguageModel, ModelOptions, PositionLogits } from '../../src/index.ts';

/** A golden file, parsed. */
export async function readGolden(path: string): Promise<GoldenSequence[]> {
  return parseGolden(await readFile(path, 'utf8'));
}

/** Opens a model with capacity for the goldens' sequences, and the reference program's cache type. */
export async function openForGolden(
  path: string,
  sequences: readonly GoldenSequence[],
  open: (path: string, options: Omit<ModelOptions, 'hostMemory'>) => Promise<LanguageModel>,
): Promise<LanguageModel> {
  const context = Math.max(...sequences.map(({ ids, greedy }) => ids.length + greedy.length));
  return open(path, { context, batch: 256, logitRows: 32, cacheType: 'f32' });
}

/** Runs forced decoding over all sequences of a golden and over the greedy continuation of each. */
export async function decodeForced(
  model: LanguageModel,
  sequences: readonly GoldenSequence[],
): Promise<ForcedDecodingReport & { readonly greedyAgrees: boolean }> {
  const decoding = new ForcedDecoding();
  let greedyAgrees = true;
  for (const sequence of sequences) {
    const { ids, from, greedy } = sequence;
    const best: number[] = [];
    const logits = model.evaluate([...ids, ...greedy.slice(0, -1)], from);
    await decoding.compare(sequence, splitAt(logits, ids.length, best));
    greedyAgrees &&= greedy.length === 0 || best.join() === greedy.join();
  }
  return { ...decoding.report(), greedyAgrees };
}

/** Passes on the positions before `end`, and records the best token of the last of them and of all later ones. */
async function* splitAt(
  logits: AsyncIterable<PositionLogits>,
  end: number,
  best: number[],
): AsyncGenerator<PositionLogits> {
  for await (const position of logits) {
    if (position.position >= end - 1) best.push(bestOf(position.logits));
    if (position.position < end) yield position;
  }
}

/** The id of the largest logit. */
export function bestOf(logits: Float32Array): number {
  return logits.indexOf(logits.reduce((a, b) => Math.max(a, b)));
}

/** The little-endian floats in a file. */
export async function readFloats(path: string): Promise<Float32Array> {
  const bytes = await readFile(path);
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
}

/** The contents of `random.expected.txt` for one model: the prompt and its greedy continuation, as ids. */
export interface ExpectedIds {
  readonly n_vocab: number;
  readonly prompt_ids: readonly number[];
  readonly greedy_ids: readonly number[];
}

/** Reads a model's line in `random.expected.txt`. */
export async function readExpected(path: string, model: string): Promise<ExpectedIds> {
  const lines = (await readFile(path, 'utf8')).split('\n');
  const line = lines.find((text) => text.startsWith(`${model} `));
  if (line === undefined) throw new Error(`${path} says nothing of ${model}`);
  return JSON.parse(line.slice(model.length)) as ExpectedIds;
}

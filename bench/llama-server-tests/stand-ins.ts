import { cp, mkdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { F32, formatNamed } from '../../src/formats/index.ts';
import {
  type GgufFile,
  type GgufPlan,
  type GgufValue,
  GgufWriter,
  loadTensorBytes,
  planSplits,
  type PlacedTensor,
} from '../../src/gguf/index.ts';
import { writeRandomWeights } from '../../src/model/synthetic/random-weights.ts';
import { syntheticShape } from '../../src/model/synthetic/shapes.ts';
import { syntheticPlan } from '../../src/model/synthetic/synthetic-plan.ts';
import { count, flag, text } from '../../src/model/synthetic-family.ts';
import { FileSink } from '../../src/node/file-sink.ts';
import { openGguf } from '../../src/node/index.ts';
import { NAMED_TEMPLATES } from '../../src/text/named-templates.ts';
import { writeAdapter } from '../../tests/support/lora-fixtures.ts';
import { wordPieces } from './word-pieces.ts';

/** The files that stand in for the downloads of llama.cpp's server tests, by the names under which they are asked for. */
export const STAND_INS = {
  'ggml-org/test-model-stories260K:F32': 'stories260K.gguf',
  'ggml-org/test-model-stories260K-infill:F32': 'stories260K-infill.gguf',
  'ggml-org/stories15M_MOE:F16': 'stories15M_MOE.gguf',
  'ggml-org/tinygemma3-GGUF:Q8_0': 'tinygemma3.gguf',
} as const;

/** Stand-ins that are no model of their own: by the file's name in the download's address. */
const FILES: Readonly<Record<string, string>> = {
  'tinyllamas/stories260K.gguf': 'stories260K.gguf',
  'tinyllamas/split/stories15M-q8_0-00001-of-00003.gguf': 'stories15M-q8_0-00001-of-00003.gguf',
  'bert-bge-small/ggml-model-f16.gguf': 'bert-bge-small.gguf',
  'jina-reranker-v1-tiny-en/ggml-model-f16.gguf': 'jina-reranker.gguf',
  'stories15M_MOE-F16.gguf': 'stories15M_MOE.gguf',
};

/** GGUF's `pooling_type`. */
const POOLING = { first: 2, rank: 4 } as const;
const EXPERTS = 4;
const ALPHA = 16;
const RANK = 8;
/** The longest context that a case asks for. */
const CONTEXT = 8192;
/** Files of the split model. */
const SPLITS = 3;
/** Tokens of the vocabulary of 512 that no text contains, for the places of the infill tokens. */
const INFILL_TOKENS = { prefix: 509, suffix: 510, middle: 511 };

/** The stand-in for a model of Hugging Face, in the folder of `writeStandIns`; undefined for one that has none. */
export function standInOf(folder: string, repository: string, file: string | undefined): string | undefined {
  const name = repository.split(':')[0] as string;
  const known = Object.entries(STAND_INS).find(([id]) => id.startsWith(`${name}:`))?.[1];
  const found = file === undefined ? known : FILES[file];
  return found === undefined ? undefined : join(folder, found);
}

/**
 * Writes the stand-ins into a folder: from the given stories260K and stories15M the models that are made of them, and
 * random ones of the right architecture for the others.
 */
export async function writeStandIns(
  folder: string,
  { stories260K, stories15M }: { readonly stories260K: string; readonly stories15M: string },
): Promise<void> {
  await mkdir(folder, { recursive: true });
  await cp(stories15M, join(folder, basename('stories15M-q4_0.gguf')));
  await using small = await openGguf(stories260K);
  await using large = await openGguf(stories15M);
  await writeChatting(small, join(folder, 'stories260K.gguf'));
  await writeInfill(small, join(folder, 'stories260K-infill.gguf'));
  const mixture = join(folder, 'stories15M_MOE.gguf');
  await writeMixture(large, mixture);
  await writeAdapter(
    join(folder, 'moe_shakespeare15M.gguf'),
    { rank: RANK, alpha: ALPHA, targets: /attn_[qv]/, seed: 1 },
    mixture,
  );
  await writeSplit(large, join(folder, 'stories15M-q8_0'));
  await writeGemma(join(folder, 'tinygemma3.gguf'), small);
  await writeEncoder(join(folder, 'bert-bge-small.gguf'), POOLING.first);
  await writeEncoder(join(folder, 'jina-reranker.gguf'), POOLING.rank);
}

function metadataOf({ metadata }: GgufFile, prefix = ''): [string, GgufValue][] {
  const keys = [...metadata.keys()].filter((key) => key.startsWith(prefix) && !key.startsWith('split.'));
  return keys.map((key) => [key, metadata.encoded(key) as GgufValue]);
}

/** Writes a file whose tensors are made from another's. */
async function writeFrom(
  path: string,
  plan: GgufPlan,
  bytesOf: (tensor: PlacedTensor) => Promise<Uint8Array>,
): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await using sink = await FileSink.create(path);
  const writer = await GgufWriter.begin(sink, plan);
  for (const tensor of writer.layout.tensors) await writer.write(await bytesOf(tensor));
  writer.end();
}

/** Reads the tensors of a file by name. */
function readerOf({ tensors }: GgufFile): (name: string) => Promise<Uint8Array> {
  return async (name) => {
    const tensor = tensors.find((one) => one.name === name);
    if (!tensor) throw new Error(`there is no ${name}`);
    return loadTensorBytes(tensor);
  };
}

/** The same model with the chat template that llama-server uses for files that have none. */
async function writeChatting(base: GgufFile, path: string): Promise<void> {
  const read = readerOf(base);
  await writeFrom(path, { metadata: chattingMetadata(base), tensors: base.tensors }, ({ name }) =>
    read(name),
  );
}

function chattingMetadata(base: GgufFile): Map<string, GgufValue> {
  return new Map(metadataOf(base))
    .set('tokenizer.chat_template', text(NAMED_TEMPLATES['chatml'] ?? ''))
    .set('llama.context_length', count(CONTEXT));
}

/** The same model with tokens for filling in the middle. */
async function writeInfill(base: GgufFile, path: string): Promise<void> {
  const { prefix, suffix, middle } = INFILL_TOKENS;
  const metadata = chattingMetadata(base);
  metadata.set('tokenizer.ggml.fim_pre_token_id', count(prefix));
  metadata.set('tokenizer.ggml.fim_suf_token_id', count(suffix));
  metadata.set('tokenizer.ggml.fim_mid_token_id', count(middle));
  const read = readerOf(base);
  await writeFrom(path, { metadata, tensors: base.tensors }, ({ name }) => read(name));
}

/** A mixture whose experts are all the dense layer: it says what the dense model says, whichever are chosen. */
async function writeMixture(base: GgufFile, path: string): Promise<void> {
  const metadata = chattingMetadata(base);
  metadata.set('llama.expert_count', count(EXPERTS));
  metadata.set('llama.expert_used_count', count(2));
  const dense = /^(blk\.\d+\.ffn_(?:gate|up|down))\.weight$/;
  const tensors = base.tensors.flatMap(({ name, format, shape }) => {
    const expert = dense.exec(name)?.[1];
    if (expert === undefined) return [{ name, format, shape }];
    const experts = { name: `${expert}_exps.weight`, format, shape: [...shape, EXPERTS] };
    if (!expert.endsWith('gate')) return [experts];
    const router = { name: `${expert}_inp.weight`, format: F32, shape: [shape[0] as number, EXPERTS] };
    return [router, experts];
  });
  const read = readerOf(base);
  await writeFrom(path, { metadata, tensors }, async ({ name, byteLength }) => {
    if (name.endsWith('_inp.weight')) return new Uint8Array(byteLength);
    if (!name.endsWith('_exps.weight')) return read(name);
    const one = await read(name.replace('_exps', ''));
    const all = new Uint8Array(byteLength);
    for (let expert = 0; expert < EXPERTS; expert++) all.set(one, expert * one.byteLength);
    return all;
  });
}

/** The same model in several files. */
async function writeSplit(base: GgufFile, path: string): Promise<void> {
  const whole = { metadata: chattingMetadata(base), tensors: base.tensors };
  const read = readerOf(base);
  for (const { name, plan } of planSplits(whole, path, {
    maxTensors: Math.ceil(base.tensors.length / SPLITS),
  })) {
    await writeFrom(name, plan, (tensor) => read(tensor.name));
  }
}

/** A random Gemma 3 with the vocabulary of another model. */
async function writeGemma(path: string, { metadata, tensors }: GgufFile): Promise<void> {
  const vocabulary = tensors.find(({ name }) => name === 'token_embd.weight')?.shape[1] ?? 0;
  const changes = { architecture: 'gemma3', vocabulary, context: 2048, layers: 6 };
  const shape = syntheticShape('tiny', changes);
  const plan = await syntheticPlan('tinygemma3', shape, { format: formatNamed('Q8_0') ?? F32 });
  const own = [...plan.metadata].filter(([key]) => !key.startsWith('tokenizer.'));
  const keys = [...metadata.keys()].filter((key) => key.startsWith('tokenizer.'));
  const tokenizer = new Map(keys.map((key) => [key, metadata.encoded(key) as GgufValue]));
  tokenizer.set('tokenizer.chat_template', text(NAMED_TEMPLATES['chatml'] ?? ''));
  await writeRandom(path, { ...plan, metadata: [...own, ...tokenizer] });
}

/** A random BERT with a vocabulary of English words; as a reranker, with a head for one score. */
async function writeEncoder(path: string, pooling: number): Promise<void> {
  const pieces = wordPieces();
  const changes = { architecture: 'bert', kvHeads: 4, vocabulary: pieces.length, context: 512 };
  const shape = syntheticShape('tiny', changes);
  const plan = await syntheticPlan('bert', shape, { format: F32 });
  const metadata = new Map([...plan.metadata].filter(([key]) => !key.startsWith('tokenizer.')));
  metadata.set('tokenizer.ggml.model', text('bert'));
  metadata.set('tokenizer.ggml.tokens', { type: 'array', element: 'string', values: pieces });
  const types = pieces.map((_, id) => (id < 5 ? (id === 1 ? 2 : 3) : 1));
  metadata.set('tokenizer.ggml.token_type', { type: 'array', element: 'i32', values: types });
  metadata.set('tokenizer.ggml.token_type_count', count(2));
  metadata.set('tokenizer.ggml.padding_token_id', count(0));
  metadata.set('tokenizer.ggml.unknown_token_id', count(1));
  metadata.set('tokenizer.ggml.bos_token_id', count(2));
  metadata.set('tokenizer.ggml.eos_token_id', count(3));
  metadata.set('tokenizer.ggml.seperator_token_id', count(3));
  metadata.set('tokenizer.ggml.mask_token_id', count(4));
  metadata.set('tokenizer.ggml.add_bos_token', flag(true));
  metadata.set('tokenizer.ggml.add_eos_token', flag(true));
  const tensors = plan.tensors.map((tensor) =>
    tensor.name === 'token_types.weight' ? { ...tensor, shape: [shape.width, 2] } : tensor,
  );
  metadata.set('bert.pooling_type', count(pooling));
  const { width } = shape;
  const head = [
    { name: 'cls.weight', format: F32, shape: [width, width] },
    { name: 'cls.bias', format: F32, shape: [width] },
    { name: 'cls.output.weight', format: F32, shape: [width, 1] },
    { name: 'cls.output.bias', format: F32, shape: [1] },
  ];
  const all = pooling === POOLING.rank ? [...tensors, ...head] : tensors;
  await writeRandom(path, { ...plan, metadata, tensors: all });
}

async function writeRandom(path: string, plan: GgufPlan): Promise<void> {
  await using sink = await FileSink.create(path);
  await writeRandomWeights(await GgufWriter.begin(sink, plan), { seed: 1 });
}

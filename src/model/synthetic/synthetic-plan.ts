import { ConfigReader } from '../config-reader.ts';
import { fail } from '../../base/errors.ts';
import { F32 } from '../../formats/index.ts';
import { GgufFile, type GgufPlan, type GgufValue, GgufWriter } from '../../gguf/index.ts';
import { MemorySink, MemorySource } from '../../io/index.ts';
import type { Architecture } from '../architecture.ts';
import { ALL_ARCHITECTURES } from '../architectures/index.ts';
import {
  count,
  headSizeMetadata,
  real,
  type SyntheticFamily,
  type SyntheticShape,
  text,
} from '../synthetic-family.ts';
import { DFLASH_SYNTHETIC, readDflash } from '../stacks/dflash.ts';
import { type SyntheticFormats, syntheticTensors } from './synthetic-tensors.ts';
import { tokenizerMetadata } from './tokenizer-metadata.ts';

/** A DFlash drafter, for a model of the same width and vocabulary that has three layers or more. */
const DFLASH: Architecture = {
  names: ['dflash'],
  configure: (read) => readDflash(read, (name) => name.endsWith('.attn_v.weight')).config,
  synthetic: DFLASH_SYNTHETIC,
};

const SYNTHETIC: readonly Architecture[] = [...ALL_ARCHITECTURES, DFLASH];

/** The architectures for which models can be synthesized. */
export const SYNTHETIC_ARCHITECTURES: readonly string[] = SYNTHETIC.flatMap(({ names }) => names);

/** How a synthetic model may differ from others of its shape. */
export interface SyntheticPlanOptions extends SyntheticFormats {
  /** Replaces the architecture's own `synthetic`. */
  readonly family?: SyntheticFamily | undefined;
}

/**
 * Everything of a model's file except its weights: metadata, a synthetic vocabulary, and the tensors' names and shapes.
 * Rejects with `INVALID_ARGUMENT` for an unknown architecture, and with the architecture's errors for inconsistent
 * metadata.
 */
export async function syntheticPlan(
  name: string,
  shape: SyntheticShape,
  { family, ...formats }: SyntheticPlanOptions,
): Promise<GgufPlan> {
  const architecture = architectureNamed(shape.architecture);
  const own = family ?? architecture.synthetic;
  const metadata = new Map([...modelMetadata(name, shape), ...familyMetadata(shape, own)]);
  for (const [key, value] of tokenizerMetadata(shape.vocabulary)) metadata.set(key, value);
  for (const [key, value] of Object.entries(own.whole?.(shape) ?? {})) metadata.set(key, value);
  for (const [key, value] of Object.entries(own.tokenizer?.(shape) ?? {})) {
    metadata.set(`tokenizer.ggml.${key}`, value);
  }
  await using header = await headerOf([...metadata]);
  const config = architecture.configure(new ConfigReader(header.metadata, shape.architecture));
  const optional = new Set(own.optional);
  const shapes = own.shapes?.(shape) ?? {};
  const { vocabulary } = shape;
  const tensors = syntheticTensors({ config, vocabulary, optional, shapes, ...formats });
  const unused = Object.entries(own.unused?.(shape) ?? {});
  const idle = unused.map(([part, size]) => ({
    name: part.startsWith('blk.') ? part : `blk.0.${part}`,
    format: F32,
    shape: size,
  }));
  return { metadata: [...metadata], tensors: [...tensors, ...idle] };
}

function architectureNamed(name: string): Architecture {
  const architecture = SYNTHETIC.find(({ names }) => names.includes(name));
  if (architecture) return architecture;
  const expected = `one of ${SYNTHETIC_ARCHITECTURES.join(', ')}`;
  return fail('INVALID_ARGUMENT', { name: 'architecture', found: name, expected });
}

/** The metadata as read back from the file. */
async function headerOf(metadata: GgufPlan['metadata']): Promise<GgufFile> {
  const sink = new MemorySink();
  await GgufWriter.begin(sink, { metadata, tensors: [] });
  return GgufFile.open(new MemorySource(sink.bytes(), 'synthetic'));
}

function modelMetadata(name: string, shape: SyntheticShape): [string, GgufValue][] {
  const sizes: Record<string, GgufValue> = {
    vocab_size: count(shape.vocabulary),
    context_length: count(shape.context),
    embedding_length: count(shape.width),
    block_count: count(shape.layers),
    feed_forward_length: count(shape.hidden),
    'rope.dimension_count': count(shape.width / shape.heads),
    ...(shape.headSize === undefined ? {} : headSizeMetadata(shape.headSize)),
    'rope.freq_base': real(shape.ropeBase),
    'attention.head_count': count(shape.heads),
    'attention.head_count_kv': count(shape.kvHeads),
    'attention.layer_norm_epsilon': real(1e-5),
    'attention.layer_norm_rms_epsilon': real(1e-5),
  };
  return [
    ['general.architecture', text(shape.architecture)],
    ['general.name', text(`${name}, random weights`)],
    ...below(shape, sizes),
  ];
}

function familyMetadata(shape: SyntheticShape, { metadata }: SyntheticFamily): [string, GgufValue][] {
  return metadata ? below(shape, metadata(shape)) : [];
}

function below(
  { architecture }: SyntheticShape,
  values: Readonly<Record<string, GgufValue>>,
): [string, GgufValue][] {
  return Object.entries(values).map(([key, value]) => [`${architecture}.${key}`, value]);
}

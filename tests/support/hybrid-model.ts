import { F32 } from '../../src/formats/index.ts';
import { GgufFile, type GgufValue, GgufWriter } from '../../src/gguf/index.ts';
import { MemorySink, MemorySource } from '../../src/io/index.ts';
import type { Architecture } from '../../src/model/architecture.ts';
import { attention } from '../../src/model/blocks/attention.ts';
import { channelMix, timeMix } from '../../src/model/blocks/rwkv7.ts';
import { feedForward } from '../../src/model/blocks/feed-forward.ts';
import { ConfigReader } from '../../src/model/config-reader.ts';
import type { LayerSpec } from '../../src/model/model-config.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../../src/model/stacks/decoder.ts';
import { writeRandomWeights } from '../../src/model/synthetic/random-weights.ts';
import { syntheticTensors } from '../../src/model/synthetic/synthetic-tensors.ts';
import { tokenizerMetadata } from '../../src/model/synthetic/tokenizer-metadata.ts';
import { count, real, text } from '../../src/model/synthetic-family.ts';

/** The window's size in positions: less than a cache block. */
const WINDOW = 12;
const WIDTH = 64;
const RANK = 16;
const VOCABULARY = 64;

/**
 * A model with layers of three kinds in turn: a recurrent state (RWKV-7), full attention, and a sliding window. No
 * published model combines all three, but those that combine two are built from the same parts.
 */
export const hybrid: Architecture = {
  names: ['hybrid'],
  configure(read) {
    const sizes = readDecoder(read);
    const { norm } = sizes;
    const ranks = { decay: RANK, rate: RANK, value: RANK, gate: RANK };
    const recurrent = preNormLayer(
      norm,
      timeMix({ headSize: WIDTH, ranks }),
      channelMix({ hidden: sizes.hidden(0) }),
    );
    const attending = (index: number, window: number | undefined): LayerSpec =>
      preNormLayer(
        norm,
        attention(attentionSpec(sizes.heads(index), { pairs: 'interleaved', window })),
        feedForward({ form: 'gated', hidden: sizes.hidden(index), activation: 'silu' }),
      );
    const kinds = [
      () => recurrent,
      (i: number) => attending(i, undefined),
      (i: number) => attending(i, WINDOW),
    ];
    return decoder(sizes, (index) => (kinds[index % 3] as (index: number) => LayerSpec)(index));
  },
  synthetic: {},
};

const SIZES: Readonly<Record<string, GgufValue>> = {
  context_length: count(512),
  embedding_length: count(WIDTH),
  block_count: count(5),
  feed_forward_length: count(96),
  'attention.head_count': count(4),
  'attention.head_count_kv': count(2),
  'attention.layer_norm_rms_epsilon': real(1e-5),
};

const METADATA: [string, GgufValue][] = [
  ['general.architecture', text('hybrid')],
  ...Object.entries(SIZES).map(([key, value]): [string, GgufValue] => [`hybrid.${key}`, value]),
  ...tokenizerMetadata(VOCABULARY),
];

async function fileOf(bytes: Uint8Array<ArrayBuffer>): Promise<GgufFile> {
  return GgufFile.open(new MemorySource(bytes, 'hybrid.gguf'));
}

/** The model's file with seeded random weights. */
export async function hybridModel(): Promise<GgufFile> {
  const header = new MemorySink();
  await GgufWriter.begin(header, { metadata: METADATA, tensors: [] });
  await using described = await fileOf(header.bytes());
  const tensors = syntheticTensors({
    config: hybrid.configure(new ConfigReader(described.metadata, 'hybrid')),
    vocabulary: VOCABULARY,
    optional: new Set(['output.weight']),
    shapes: { 'time_mix_lerp_fused.weight': [WIDTH, 1, 1, 6] },
    format: F32,
  });
  const sink = new MemorySink();
  const writer = await GgufWriter.begin(sink, { metadata: METADATA, tensors });
  await writeRandomWeights(writer, { seed: 5 });
  return fileOf(sink.bytes());
}

import { asBytes } from '../../src/base/bytes.ts';
import { seededRandom } from '../../src/base/seeded-random.ts';
import { F32, type TensorFormat } from '../../src/formats/index.ts';
import { GgufFile, type GgufPlan, GgufWriter, type PlacedTensor } from '../../src/gguf/index.ts';
import { MemorySink, MemorySource } from '../../src/io/index.ts';
import { writeRandomWeights } from '../../src/model/synthetic/random-weights.ts';
import { syntheticShape } from '../../src/model/synthetic/shapes.ts';
import { syntheticPlan } from '../../src/model/synthetic/synthetic-plan.ts';
import { count, type SyntheticShape } from '../../src/model/synthetic-family.ts';
import { type FamilyVariant, familyOfVariant } from './family-variant.ts';

/** A small model with a block that predicts further tokens. */
export interface PredictingOptions {
  readonly sizes?: Partial<SyntheticShape>;
  readonly variant?: Omit<FamilyVariant, 'name' | 'architecture'>;
  readonly format?: TensorFormat;
  readonly seed?: number;
  /** Blocks that predict, of which all but the first are unread. Default: 1. */
  readonly blocks?: number;
  /**
   * If given, every token depends on the one before it alone, and the predictor knows by which rule, except for noise of
   * this standard deviation in what it reads of a token. Default: weights are random, so that it knows nothing.
   */
  readonly noise?: number;
  /** Whether all tokens are one to the model, so that each is drawn alike, whatever is before it. Not without `noise`. */
  readonly isBlind?: boolean;
}

/** The plan of the file: two layers or more, and one that predicts. */
export async function predictingPlan(
  architecture: string,
  { sizes, variant, format = F32, blocks = 1 }: PredictingOptions = {},
): Promise<GgufPlan> {
  const shape = syntheticShape('tiny', { architecture, layers: 3, context: 128, ...sizes });
  const metadata = { nextn_predict_layers: count(blocks), ...variant?.metadata };
  const family = familyOfVariant({ architecture, ...variant, metadata });
  const plan = await syntheticPlan('predicting', shape, { format, family });
  const first = shape.layers - blocks;
  const ofFirst = plan.tensors.filter(({ name }) => name.startsWith(`blk.${first}.`));
  const unread = Array.from({ length: blocks - 1 }, (_, more) =>
    ofFirst.map((tensor) => ({ ...tensor, name: tensor.name.replace(`${first}`, `${first + more + 1}`) })),
  );
  return { ...plan, tensors: [...plan.tensors, ...unread.flat()] };
}

/** The model's file. */
export async function predictingModel(
  architecture: string,
  options: PredictingOptions = {},
): Promise<GgufFile> {
  const { seed = 3, noise, isBlind = false } = options;
  const plan = await predictingPlan(architecture, options);
  const sink = new MemorySink();
  const writer = await GgufWriter.begin(sink, plan);
  if (noise === undefined) await writeRandomWeights(writer, { seed });
  else await writeForeseen(writer, { seed, noise, isBlind });
  return GgufFile.open(new MemorySource(sink.bytes(), 'predicting.gguf'));
}

/**
 * A DFlash drafter of blind models of this shape, which knows how their tokens are drawn, except for noise of this standard
 * deviation in what it reads.
 */
export async function blindDrafter(sizes: Partial<SyntheticShape>, noise: number): Promise<GgufFile> {
  const shape = syntheticShape('tiny', { ...sizes, architecture: 'dflash', layers: 2 });
  const sink = new MemorySink();
  const writer = await GgufWriter.begin(sink, await syntheticPlan('drafter', shape, { format: F32 }));
  await writeForeseen(writer, { seed: 4, noise, isBlind: true });
  return GgufFile.open(new MemorySource(sink.bytes(), 'drafter.gguf'));
}

/** What adds the noise of a drafter. */
const DRAFTER_NOISE = 'blk.1.ffn_down.weight';

/** Matrices with which a sublayer adds to the residual stream. */
const ADDING = /\.(attn_output|attn_output_b|ssm_out|ffn_down|ffn_down_exps|ffn_down_shexp)\.weight$/;

/**
 * Writes weights with which layers add nothing to the residual stream, so that the logits depend on the last token
 * alone, and the predictor reads the next token alone.
 */
async function writeForeseen(
  writer: GgufWriter,
  { seed, ...of }: { seed: number; noise: number; isBlind: boolean },
): Promise<void> {
  const random = seededRandom(seed);
  const isDrafter = writer.layout.tensors.some(({ name }) => name === 'fc.weight');
  for (let tensor = writer.next; tensor; tensor = writer.next) {
    await writer.write(asBytes(foreseenWeights(tensor, { random, isDrafter, ...of })));
  }
  writer.end();
}

function foreseenWeights(
  { name, shape, byteLength }: PlacedTensor,
  {
    random,
    noise,
    isBlind,
    isDrafter,
  }: { random: () => number; noise: number; isBlind: boolean; isDrafter: boolean },
): Float32Array {
  const [columns = 1] = shape;
  const values = new Float32Array(byteLength / 4);
  const drawn = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  if (isDrafter && name === DRAFTER_NOISE) return values.map(() => (noise * drawn()) / Math.sqrt(columns));
  if (ADDING.test(name)) return values;
  if (isBlind && name === 'token_embd.weight') {
    const row = Float32Array.from({ length: columns }, drawn);
    return values.map((_, at) => row[at % columns] as number);
  }
  if (name.endsWith('nextn.eh_proj.weight')) {
    const width = columns / 2;
    return values.map((_, at) => {
      const [row, column] = [Math.floor(at / columns), at % columns];
      if (column >= width) return 0;
      return (row === column ? 1 : 0) + (noise * drawn()) / Math.sqrt(width);
    });
  }
  const isNorm = shape.length === 1 && name.endsWith('norm.weight');
  if (isNorm) return values.fill(1);
  return values.map(() => drawn() / Math.sqrt(columns));
}

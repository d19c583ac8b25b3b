import { F32 } from '../../src/formats/index.ts';
import { GgufWriter } from '../../src/gguf/index.ts';
import { FileSink } from '../../src/node/file-sink.ts';
import { openGguf } from '../../src/node/open-gguf.ts';
import { seededRandom } from '../../src/base/seeded-random.ts';
import { fixture } from './fixture.ts';

/** A random adapter: its rank and alpha, and the matrices that it adapts. */
interface AdapterShape {
  readonly rank: number;
  readonly alpha: number;
  readonly targets: RegExp;
  readonly seed: number;
}

/** The base model of the adapters. */
export const LORA_BASE = fixture('families/llama.gguf');
export const LORA_GOLDEN = fixture('families/llama.lora.jsonl');

/** Different ranks, one of them odd; each adapter also changes a matrix that the other does not. */
export const LORA_ADAPTERS: readonly (AdapterShape & { readonly file: string })[] = [
  { file: adapterPath('first'), rank: 3, alpha: 6, targets: /attn_[qv]|ffn_down/, seed: 11 },
  { file: adapterPath('second'), rank: 8, alpha: 0, targets: /attn_(q|output)|ffn_(gate|up)/, seed: 12 },
];

/** The adapters by name. */
export const LORA_FILES: Readonly<Record<string, string>> = {
  first: adapterPath('first'),
  second: adapterPath('second'),
};

/** The adapters of each text in the golden, with their scales. */
export const LORA_MIXTURES: readonly Readonly<Record<string, number>>[] = [
  { first: 1 },
  { second: 0.5 },
  { first: 0.75, second: -0.25 },
];

export function adapterPath(name: string): string {
  return fixture(`families/llama.${name}-lora.gguf`);
}

/** Writes a random adapter for some matrices of a model. */
export async function writeAdapter(
  path: string,
  { rank, alpha, targets, seed }: AdapterShape,
  model = LORA_BASE,
): Promise<void> {
  await using base = await openGguf(model);
  const matrices = base.tensors.filter(({ name, shape }) => shape.length === 2 && targets.test(name));
  const random = seededRandom(seed);
  const tensors = matrices.flatMap(({ name, shape: [columns = 0, rows = 0] }) => [
    { name: `${name}.lora_a`, format: F32, shape: [columns, rank] },
    { name: `${name}.lora_b`, format: F32, shape: [rank, rows] },
  ]);
  const text = (value: string) => ({ type: 'string', value }) as const;
  const sink = await FileSink.create(path);
  const writer = await GgufWriter.begin(sink, {
    metadata: [
      ['general.type', text('adapter')],
      ['general.architecture', text(base.metadata.requireString('general.architecture'))],
      ['adapter.type', text('lora')],
      ['adapter.lora.alpha', { type: 'f32', value: alpha }],
    ],
    tensors,
  });
  for (const { shape } of tensors) {
    const count = shape.reduce((product, size) => product * size, 1);
    const values = Float32Array.from({ length: count }, () => (2 * random() - 1) / Math.sqrt(shape[0] ?? 1));
    await writer.write(new Uint8Array(values.buffer));
  }
  writer.end();
  await sink.dispose();
}

import { ALL_FORMATS, formatNamed, type TensorFormat } from '../../src/formats/index.ts';
import { type GgufPlan, GgufWriter, type PlacedTensor } from '../../src/gguf/index.ts';
import { MemorySink } from '../../src/io/index.ts';
import { seededRandom } from './random.ts';

/** The format with this name, which must exist. */
export function format(name: string): TensorFormat {
  const found = formatNamed(name);
  if (!found) throw new Error(`no format ${name}`);
  return found;
}

/** Reproducible bytes for a tensor, depending on its name. */
export function dataOf(tensor: PlacedTensor): Uint8Array {
  const seed = Array.from(tensor.name).reduce((sum, c) => sum * 31 + (c.codePointAt(0) ?? 0), 7);
  const random = seededRandom(seed);
  return Uint8Array.from({ length: tensor.byteLength }, () => random() * 256);
}

/** A whole file in memory, with tensors filled by `dataOf`. */
export async function fileOf(plan: GgufPlan): Promise<Uint8Array<ArrayBuffer>> {
  const sink = new MemorySink();
  const writer = await GgufWriter.begin(sink, plan);
  for (const tensor of writer.layout.tensors) await writer.write(dataOf(tensor));
  writer.end();
  return sink.bytes();
}

/** A small file with a value of every type and a tensor of every format. */
export const SMALL_PLAN: GgufPlan = {
  metadata: [
    ['general.architecture', { type: 'string', value: 'llama' }],
    ['general.alignment', { type: 'u32', value: 64 }],
    ['a.u8', { type: 'u8', value: 200 }],
    ['a.i8', { type: 'i8', value: -100 }],
    ['a.u16', { type: 'u16', value: 60000 }],
    ['a.i16', { type: 'i16', value: -30000 }],
    ['a.u32', { type: 'u32', value: 4e9 }],
    ['a.i32', { type: 'i32', value: -2e9 }],
    ['a.f32', { type: 'f32', value: 1.5 }],
    ['a.bool', { type: 'bool', value: true }],
    ['a.u64', { type: 'u64', value: 2 ** 40 }],
    ['a.i64', { type: 'i64', value: -(2 ** 40) }],
    ['a.f64', { type: 'f64', value: Math.PI }],
    ['a.huge', { type: 'u64', value: 2n ** 63n }],
    ['tokens', { type: 'array', element: 'string', values: ['<s>', 'é', '\ufeff', '日本', '😀', ''] }],
    ['bytes', { type: 'array', element: 'string', values: [Uint8Array.of(0xff, 0xc3), 'ok'] }],
    ['scores', { type: 'array', element: 'f32', values: [0, -1.5, 2] }],
    ['flags', { type: 'array', element: 'bool', values: [true, false] }],
    ['empty', { type: 'array', element: 'i32', values: [] }],
    [
      'nested',
      {
        type: 'array',
        element: 'array',
        values: [
          { type: 'array', element: 'i32', values: [1, 2] },
          { type: 'array', element: 'string', values: ['x'] },
        ],
      },
    ],
  ],
  tensors: ALL_FORMATS.map((each, index) => ({
    name: `blk.${index}.${each.name}.weight`,
    format: each,
    shape: [each.blockElements, 1 + (index % 3)],
  })),
};

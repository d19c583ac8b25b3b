import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { F32 } from '../../src/formats/index.ts';
import { type GgufPlan, GgufWriter } from '../../src/gguf/index.ts';
import { MemorySink } from '../../src/io/index.ts';
import { bundledModel } from '../../src/node/bundled-model.ts';
import { fixture } from './fixture.ts';
import { seededRandom } from './random.ts';

/** A random control vector: values of up to `size`, behind layers from the first one to the last one. */
interface RandomControl {
  readonly seed: number;
  readonly scale: number;
  readonly size: number;
}

/** A model with control vectors. `tests/fixtures/control-vectors.json` has what llama.cpp computes with them. */
export interface ControlCase {
  readonly model: string;
  readonly width: number;
  /** Layers that have a direction: from 1 to this one. */
  readonly last: number;
  readonly vectors: readonly RandomControl[];
  readonly layers?: readonly [number, number];
  readonly ids: readonly number[];
}

const IDS = [7, 25, 53, 30, 17, 14, 21, 3, 3, 9];

/** One layer; six, some of which are left out; and models with several residual streams. */
export const CONTROL_CASES: Readonly<Record<string, ControlCase>> = {
  llama: ofFamily('llama', { last: 1, vectors: [{ seed: 1, scale: 1, size: 0.5 }] }),
  gemma3: ofFamily('gemma3', {
    last: 5,
    layers: [2, 4],
    vectors: [
      { seed: 2, scale: 1.5, size: 0.5 },
      { seed: 3, scale: -0.5, size: 0.5 },
    ],
  }),
  gemma3n: ofFamily('gemma3n', { last: 1, vectors: [{ seed: 4, scale: 1, size: 0.5 }] }),
  deepseek4: ofFamily('deepseek4', { last: 1, vectors: [{ seed: 5, scale: -1, size: 0.5 }] }),
};

/** The bundled model, whose weights are quantized. */
export const BUNDLED_CONTROL: ControlCase = {
  model: bundledModel(),
  width: 512,
  last: 7,
  layers: [2, 6],
  vectors: [
    { seed: 6, scale: 1, size: 0.1 },
    { seed: 7, scale: -0.5, size: 0.1 },
  ],
  ids: [1, 400, 521, 33, 1200, 87, 2501, 16, 945],
};

function ofFamily(name: string, of: Pick<ControlCase, 'last' | 'vectors' | 'layers'>): ControlCase {
  return { model: fixture(`families/${name}.gguf`), width: 32, ids: IDS, ...of };
}

/** Writes a case's control vectors into a folder. */
export async function writeControls(
  { vectors, width, last }: ControlCase,
  folder: string,
): Promise<{ location: string; scale: number }[]> {
  const sources: { location: string; scale: number }[] = [];
  for (const { seed, scale, size } of vectors) {
    const location = join(folder, `control-${seed}.gguf`);
    const random = seededRandom(seed);
    const direction = () => Float32Array.from({ length: width }, () => size * (2 * random() - 1));
    const directions = Array.from({ length: last }, (_, i) => [`direction.${i + 1}`, direction()] as const);
    writeFileSync(location, await controlBytes(new Map(directions)));
    sources.push({ location, scale });
  }
  return sources;
}

/** Writes a control vector for the first two layers of a model into a file. */
export async function writeControl(path: string, width: number, seed: number): Promise<void> {
  const random = seededRandom(seed);
  const direction = () => Float32Array.from({ length: width }, () => random() - 0.5);
  writeFileSync(
    path,
    await controlBytes(new Map([1, 2].map((layer) => [`direction.${layer}`, direction()]))),
  );
}

/** A file of control vectors. */
export async function controlBytes(
  directions: ReadonlyMap<string, Float32Array>,
  architecture = 'controlvector',
): Promise<Uint8Array<ArrayBuffer>> {
  const plan: GgufPlan = {
    metadata: [['general.architecture', { type: 'string', value: architecture }]],
    tensors: [...directions].map(([name, { length }]) => ({ name, format: F32, shape: [length] })),
  };
  const sink = new MemorySink();
  const writer = await GgufWriter.begin(sink, plan);
  for (const values of directions.values()) await writer.write(new Uint8Array(values.buffer));
  writer.end();
  return sink.bytes();
}

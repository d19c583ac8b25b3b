import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { F32 } from '../src/formats/index.ts';
import { syntheticShape } from '../src/model/synthetic/shapes.ts';
import { writeSyntheticModel } from '../src/node/write-synthetic-model.ts';
import {
  CELLS,
  CHUNKS,
  FAMILY_FIXTURES,
  type FamilyFixture,
  familyPaths,
  type LongText,
} from '../tests/support/family-fixtures.ts';
import { writeVariant } from '../tests/support/family-variant.ts';
import { FAMILY_VARIANTS, VARIANTS_GOLDEN } from '../tests/support/family-variants.ts';
import {
  adapterPath,
  LORA_ADAPTERS,
  LORA_BASE,
  LORA_GOLDEN,
  LORA_MIXTURES,
  writeAdapter,
} from '../tests/support/lora-fixtures.ts';
import {
  QUANTIZED_FAMILIES,
  QUANTIZED_GOLDEN,
  type QuantizedFamily,
  type QuantizedResult,
  writeQuantized,
} from '../tests/support/quantized-families.ts';
import { referenceEmbeddings, referenceScores, referenceSequences } from './peer/forced-logits.ts';
import { installPeer } from './peer/install-peer.ts';

// Creates the small random model of each architecture and its golden, computed by llama.cpp through node-llama-cpp:
// `npm run goldens -- [architecture | lora | variants | quantized | chunks | cells ...]`.

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Two sequences of ids: one longer than the sliding windows, one that repeats the same id. */
const TEXTS = [
  Array.from({ length: 24 }, (_, i) => (7 + 13 * i + 5 * i * i) % 61),
  [3, 3, 3, 3, 3, 3, 9, 3, 3, 60, 1, 0],
];

const wanted = process.argv.slice(2);
const module = installPeer(join(ROOT, '.cache'));
for (const family of FAMILY_FIXTURES) {
  const { name, architecture = name, sizes } = family;
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  const { model: path, golden } = familyPaths(family);
  mkdirSync(dirname(path), { recursive: true });
  const shape = syntheticShape('tiny', { architecture, ...sizes });
  await writeSyntheticModel({ path, name: 'tiny', shape, family: family.family, format: F32, seed: 1 });
  const sequences = await referenceFor(family, path, TEXTS);
  writeFileSync(golden, sequences.map((sequence) => `${JSON.stringify(sequence)}\n`).join(''));
  console.log(basename(golden));
}
if (wanted.length === 0 || wanted.includes('lora')) await writeLoraGolden();
if (wanted.length === 0 || wanted.includes('variants')) await writeVariantsGolden();
if (wanted.length === 0 || wanted.includes('quantized')) await writeQuantizedGolden();
if (wanted.length === 0 || wanted.includes('chunks')) await writeLongGolden(CHUNKS);
if (wanted.length === 0 || wanted.includes('cells')) await writeLongGolden(CELLS);
// The library's threads would keep the process alive.
process.exit(0);

/** llama.cpp's results for a model: scores, embeddings, or logits. */
async function referenceFor(
  { scores, encodes, flashAttention }: Pick<FamilyFixture, 'scores' | 'encodes' | 'flashAttention'>,
  path: string,
  texts: readonly (readonly number[])[],
): Promise<readonly object[]> {
  if (scores !== undefined) return referenceScores(module, path, { texts, labels: scores });
  if (encodes) return referenceEmbeddings(module, path, texts);
  return referenceSequences(module, path, texts, { flashAttention });
}

/** llama.cpp's results for each variant's model, which is not stored: tests create it again. */
async function writeVariantsGolden(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'rocmforge-'));
  const lines: string[] = [];
  for (const variant of FAMILY_VARIANTS) {
    const path = join(folder, 'variant.gguf');
    await writeVariant(variant, path);
    const sequences = await referenceFor(variant, path, TEXTS.slice(0, 1));
    lines.push(...sequences.map((sequence) => JSON.stringify({ variant: variant.name, ...sequence })));
  }
  rmSync(folder, { recursive: true });
  writeFileSync(VARIANTS_GOLDEN, lines.map((line) => `${line}\n`).join(''));
  console.log(basename(VARIANTS_GOLDEN));
}

/** The best logits of each quantized model's last positions, or its embedding; the models are not stored, either. */
async function writeQuantizedGolden(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'rocmforge-'));
  const [ids = []] = TEXTS;
  const from = ids.length / 2;
  const lines: string[] = [];
  for (const of of QUANTIZED_FAMILIES) {
    const path = join(folder, 'quantized.gguf');
    await writeQuantized(of, path);
    lines.push(JSON.stringify({ model: of.name, ...(await quantizedResult(of, path, { ids, from })) }));
  }
  rmSync(folder, { recursive: true });
  writeFileSync(QUANTIZED_GOLDEN, lines.map((line) => `${line}\n`).join(''));
  console.log(basename(QUANTIZED_GOLDEN));
}

async function quantizedResult(
  { family: { encodes, flashAttention } }: QuantizedFamily,
  path: string,
  { ids, from }: { ids: readonly number[]; from: number },
): Promise<Omit<QuantizedResult, 'model'>> {
  const short = (value: number) => Number(value.toPrecision(5));
  if (encodes) {
    const [found] = await referenceEmbeddings(module, path, [ids]);
    return { ids: found?.ids ?? ids, vector: found?.vector.map(short) ?? [] };
  }
  const [found] = await referenceSequences(module, path, [ids], {
    from,
    ...(flashAttention && { flashAttention }),
  });
  const top =
    found?.top.map((row) => row.slice(0, 6).map(([id, logit]) => [id, short(logit)] as const)) ?? [];
  return { ids, from, top };
}

/** The last positions of a long text. */
async function writeLongGolden({ model, golden, ids, from }: LongText): Promise<void> {
  const sequences = await referenceSequences(module, model, [ids], { from });
  writeFileSync(golden, sequences.map((sequence) => `${JSON.stringify(sequence)}\n`).join(''));
  console.log(basename(golden));
}

/** Two adapters of the small Llama, and llama.cpp's results with one, the other, and both. */
async function writeLoraGolden(): Promise<void> {
  const lines: string[] = [];
  for (const { file, rank, alpha, targets, seed } of LORA_ADAPTERS) {
    await writeAdapter(file, { rank, alpha, targets, seed });
  }
  for (const scales of LORA_MIXTURES) {
    const adapters = Object.entries(scales).map(([name, scale]) => ({ filePath: adapterPath(name), scale }));
    const sequences = await referenceSequences(module, LORA_BASE, TEXTS, { adapters });
    lines.push(...sequences.map((sequence) => JSON.stringify({ ...sequence, adapters: scales })));
  }
  writeFileSync(LORA_GOLDEN, lines.map((line) => `${line}\n`).join(''));
  console.log(basename(LORA_GOLDEN));
}

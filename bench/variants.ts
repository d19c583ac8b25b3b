// Compares files that differ from published ones in one thing or two with llama.cpp: each architecture's small random model with
// other sizes, with each key of many values and without it, with tensors that it may lack and without those that it may have.
// `node dist/bench/variants.js <llama.cpp> <its build folder> [architecture ...] [--keys pattern] [--pairs count] [--seed number]
// [--length positions] [--text number] [--format name] [--limit difference]`
// needs a C++ compiler, llama.cpp's sources and a build; it prints what differs, what one of both refuses and what lies between near
// ties, and a table of counts. Where GELU's roundings add up, a build without its table of f16 (`GGML_GELU_FP16`) tells them from
// faults. An hour of two cores is some twenty thousand files.
import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { isRocmforgeError } from '../src/base/errors.ts';
import { seededRandom } from '../src/base/seeded-random.ts';
import { F32, formatNamed, type TensorFormat } from '../src/formats/index.ts';
import { GgufWriter } from '../src/gguf/index.ts';
import { loadModel, type LanguageModel, type Taps } from '../src/index.ts';
import { SharedDeviceMemory } from '../src/load/shared-device-memory.ts';
import { writeRandomWeights } from '../src/model/synthetic/random-weights.ts';
import { syntheticShape } from '../src/model/synthetic/shapes.ts';
import { syntheticPlan } from '../src/model/synthetic/synthetic-plan.ts';
import { openCpu } from '../src/node/open-cpu.ts';
import { openGguf } from '../src/node/open-gguf.ts';
import { writeWhole } from '../src/node/write-whole.ts';
import { FAMILY_FIXTURES, type FamilyFixture, LARGEST_DIFFERENCE } from '../tests/support/family-fixtures.ts';
import { familyOfVariant } from '../tests/support/family-variant.ts';
import { NearTies } from '../tests/support/near-ties.ts';
import { type Change, otherKeys, otherSizes, otherTensors, together } from './variants/changes.ts';
import { Reference } from './variants/reference.ts';

/** What came of a file; `fails` is an error that is not ours to throw. */
type Kind = 'same' | 'tie' | 'differs' | 'refused' | 'they refuse' | 'both refuse' | 'not finite' | 'fails';

interface Outcome {
  readonly kind: Kind;
  readonly detail?: string;
}

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    keys: { type: 'string', default: '' },
    pairs: { type: 'string', default: '0' },
    seed: { type: 'string', default: '1' },
    length: { type: 'string', default: '24' },
    text: { type: 'string' },
    format: { type: 'string', default: 'F32' },
    limit: { type: 'string' },
  },
});
const [llama, build, ...wanted] = positionals;
if (llama === undefined || build === undefined) throw new Error('say where llama.cpp and its build are');
const matrices = formatOf(values.format);
const length = Number(values.length);
/** A text longer than the sliding windows, or another one by its number. */
const IDS =
  values.text === undefined ? Array.from({ length }, (_, i) => (7 + 13 * i + 5 * i * i) % 61) : randomIds();
/** As llama.cpp rounds contexts up. */
const CONTEXT = Math.ceil(length / 256) * 256;
const reference = new Reference(llama, build);
const memory = await SharedDeviceMemory.open(await openCpu({ threads: 1 }));
const path = join(tmpdir(), `variant-${process.pid}.gguf`);
const total = new Map<Kind, number>();
for (const family of FAMILY_FIXTURES) {
  if (family.scores !== undefined || (wanted.length > 0 && !wanted.includes(family.name))) continue;
  await search(family);
}
console.log(Array.from(total, ([kind, count]) => `${kind} ${count}`).join(', '));
reference.stop();
rmSync(path, { force: true });
await memory.device[Symbol.asyncDispose]();

function formatOf(name: string): TensorFormat {
  const found = formatNamed(name);
  if (!found) throw new Error(`no format ${name}`);
  return found;
}

function randomIds(): number[] {
  const random = seededRandom(Number(values.text));
  return Array.from({ length }, () => 3 + Math.floor(58 * random()));
}

/** Tries every change of a family's file, and as many pairs as asked for. */
async function search(family: FamilyFixture): Promise<void> {
  const changes = (await changesOf(family)).filter(({ label }) => label.includes(values.keys));
  let seed = Number(values.seed);
  const any = (): Change => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    return changes[Math.floor((seed / 2 ** 32) * changes.length)] as Change;
  };
  const pairs = Array.from({ length: Number(values.pairs) }, () => together(any(), any()));
  for (const change of Number(values.pairs) > 0 ? pairs : changes) {
    const { kind, detail = '' } = await outcomeOf(family, change);
    total.set(kind, (total.get(kind) ?? 0) + 1);
    if (kind !== 'same' && kind !== 'both refuse')
      console.log([kind, family.name, change.label, detail].join(' | '));
  }
}

async function changesOf({ name, architecture = name, sizes, family }: FamilyFixture): Promise<Change[]> {
  const shape = syntheticShape('tiny', { architecture, ...sizes });
  const own = family ?? familyOfVariant({ architecture });
  const plan = await syntheticPlan('tiny', shape, { family: own, format: matrices });
  const keys = otherKeys(Object.keys(own.metadata?.(shape) ?? {}), shape);
  return [...otherSizes(), ...keys, ...otherTensors(plan, own.optional ?? [], shape)];
}

async function outcomeOf(family: FamilyFixture, change: Change): Promise<Outcome> {
  try {
    await writeChanged(family, change);
  } catch (error) {
    return failure(error);
  }
  const question = { path, embeds: family.encodes === true, flashAttention: family.flashAttention === true };
  const theirs = await reference.ask({ ...question, ids: IDS });
  try {
    const { rows, ids } = 'refused' in theirs ? { rows: undefined, ids: IDS } : theirs;
    await using model = await open();
    if (rows === undefined) return { kind: 'they refuse', detail: 'refused' in theirs ? theirs.refused : '' };
    if (rows.some((row) => row.includes(null as never))) return { kind: 'not finite' };
    const limit =
      values.limit === undefined ? (family.difference ?? LARGEST_DIFFERENCE) : Number(values.limit);
    const found = family.encodes
      ? [differenceOf((await model.embed(ids, { normalized: false })).vector, rows[0] ?? [])]
      : await differencesOf(model, rows);
    if (Math.max(...found) < limit) return { kind: 'same' };
    return family.encodes ? { kind: 'differs', detail: `by ${found[0]}` } : await settle(rows, limit);
  } catch (error) {
    const own = failure(error);
    return own.kind === 'refused' && 'refused' in theirs ? { kind: 'both refuse' } : own;
  }
}

async function writeChanged(
  { name, architecture = name, sizes, family }: FamilyFixture,
  change: Change,
): Promise<void> {
  const shape = syntheticShape('tiny', { architecture, ...sizes, ...change.sizes });
  const changed = familyOfVariant({ architecture, ...change }, family);
  const plan = await syntheticPlan('variant', shape, { family: changed, format: matrices });
  const there = new Set(plan.tensors.map((tensor) => tensor.name));
  const added = Object.entries(change.added ?? {}).filter(([tensor]) => !there.has(tensor));
  const tensors = [
    ...plan.tensors,
    ...added.map(([tensor, size]) => ({ name: tensor, format: F32, shape: size })),
  ];
  rmSync(path, { force: true });
  await writeWhole(path, async (sink) =>
    writeRandomWeights(await GgufWriter.begin(sink, { ...plan, tensors }), { seed: 1 }),
  );
}

function open(taps?: Taps): Promise<LanguageModel> {
  const options = {
    context: CONTEXT,
    batch: Math.max(64, length),
    logitRows: Math.max(32, length),
    cacheType: 'f32',
    sharedMemory: memory,
  } as const;
  return loadModel(path, { ...options, ...(taps && { taps }) });
}

/** Whether the differences go away once near ties are decided as llama.cpp did. */
async function settle(rows: readonly (readonly number[])[], limit: number): Promise<Outcome> {
  await using file = await openGguf(path);
  const ties = await NearTies.of(file);
  await using model = await open(ties.taps);
  const difference = (logits: Float32Array, position: number) => differenceOf(logits, rows[position] ?? []);
  const left = await ties.settle(model, IDS, { limit, difference });
  if (!(left < limit)) return { kind: 'differs', detail: `by ${left}` };
  const named = ties.forced.map(({ name, position }) => `${name} at ${position}`);
  return { kind: 'tie', detail: named.join(', ') };
}

async function differencesOf(model: LanguageModel, rows: readonly (readonly number[])[]): Promise<number[]> {
  const found: number[] = [];
  for await (const { logits, position } of model.evaluate(IDS)) {
    found.push(differenceOf(logits, rows[position] ?? []));
  }
  return found;
}

/** The largest difference of two rows, relative to the largest value where that is above 1. */
function differenceOf(ours: Float32Array, theirs: readonly number[]): number {
  if (ours.length !== theirs.length) return Number.POSITIVE_INFINITY;
  const largest = theirs.reduce((most, value) => Math.max(most, Math.abs(value)), 1);
  return (
    theirs.reduce((most, value, i) => Math.max(most, Math.abs(value - (ours[i] as number))), 0) / largest
  );
}

function failure(error: unknown): Outcome {
  const kind = isRocmforgeError(error) && error.code !== 'INTERNAL' ? 'refused' : 'fails';
  return { kind, detail: String(error) };
}

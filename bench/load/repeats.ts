import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { BUFFER_ALIGNMENT, type Device } from '../../src/device/index.ts';
import { LanguageModel } from '../../src/engine/language-model.ts';
import { SharedDeviceMemory } from '../../src/load/shared-device-memory.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { openGguf } from '../../src/node/index.ts';

const LOADS = 100;
const AT_EACH_END = 10;
const ROUNDS = 5;
/** Number of weights that are checked. */
const LOOKED_AT = 32;
const LOOKED_AT_BYTES = 64 << 10;
const MEBIBYTE = 2 ** 20;

/**
 * Prints whether repeatedly loading the first model becomes slower, whether that and loading all models twice at once
 * leaves anything behind, and how often the device had different bytes than at first.
 */
export async function printRepeats(
  paths: readonly [string, ...string[]],
  openDevice: () => Promise<Device>,
): Promise<void> {
  await using device = await openDevice();
  const sharedMemory = await SharedDeviceMemory.open(device);
  const hashes = new Map<string, string>();
  let others = 0;
  const load = async (path: string): Promise<number> => {
    const gguf = await openGguf(path);
    const parts = { gguf, device, sharedMemory, architectures: ALL_ARCHITECTURES };
    const begin = performance.now();
    await using model = await LanguageModel.open(parts, { context: 512, batch: 16, load: 'eager' });
    const seconds = (performance.now() - begin) / 1000;
    for await (const _ of model.generate([1, 2], { temperature: 0, maxTokens: 1, ignoreEnd: true }));
    const hash = await hashOf(model);
    if ((hashes.get(path) ?? hash) !== hash) others++;
    hashes.set(path, hash);
    return seconds;
  };
  const [path] = paths;
  const all = [...paths, ...paths];
  // Until kernels are compiled and pools have reached their size.
  for (let i = 0; i < AT_EACH_END; i++) await load(path);
  await Promise.all(all.map(load));
  const before = await held(device);
  const times: number[] = [];
  for (let i = 0; i < LOADS; i++) times.push(await load(path));
  const ratio = meanOf(times.slice(-AT_EACH_END)) / meanOf(times.slice(0, AT_EACH_END));
  const first = (1000 * meanOf(times.slice(0, AT_EACH_END))).toFixed(1);
  console.log(
    `${LOADS} loads: the first ten ${first} ms each, the last ten ${ratio.toFixed(3)} times as long`,
  );
  console.log(changesOf(before, await held(device)));
  for (let round = 0; round < ROUNDS; round++) await Promise.all(all.map(load));
  console.log(`${ROUNDS} times ${all.length} at once: ${changesOf(before, await held(device))}`);
  console.log(`other bytes on the device than at first: ${others} times`);
}

/** A hash over samples of some weights, evenly spaced, as they are on the device. */
async function hashOf({ plan, device }: LanguageModel): Promise<string> {
  await using stream = device.createStream('look');
  const hash = createHash('sha1');
  const step = Math.ceil(plan.weights.length / LOOKED_AT);
  for (const { range, byteLength } of plan.weights.filter((_, i) => i % step === 0)) {
    const bytes = new Uint8Array(Math.min(byteLength, LOOKED_AT_BYTES));
    const offset = range.offset + alignDown((byteLength - bytes.length) / 2);
    await stream.download({ ...range, offset, byteLength: bytes.length }, bytes);
    hash.update(bytes);
  }
  return hash.digest('hex');
}

function alignDown(offset: number): number {
  return Math.floor(offset / BUFFER_ALIGNMENT) * BUFFER_ALIGNMENT;
}

function changesOf(before: Record<string, string>, after: Record<string, string>): string {
  return Object.keys(before)
    .map((kind) => `${kind} ${before[kind]} to ${after[kind]}`)
    .join(', ');
}

async function held(device: Device): Promise<Record<string, string>> {
  const count = (path: string) => (process.platform === 'linux' ? `${readdirSync(path).length}` : 'unknown');
  return {
    'device MiB free': ((await device.memory()).free / MEBIBYTE).toFixed(1),
    'host MiB': (process.memoryUsage().rss / MEBIBYTE).toFixed(0),
    descriptors: count('/proc/self/fd'),
    threads: count('/proc/self/task'),
    objects: `${device.liveObjects()}`,
  };
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import type { Device } from '../../src/device/index.ts';
import { LanguageModel } from '../../src/engine/language-model.ts';
import { GgufFile } from '../../src/gguf/index.ts';
import { MemorySource } from '../../src/io/index.ts';
import { SharedDeviceMemory } from '../../src/load/shared-device-memory.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { tinyBytes } from './tiny-model.ts';
import { until } from './hung.ts';

const FORMATS = ['Q8_0', 'Q4_0', 'F16', 'F32'];
const MEBIBYTE = 2 ** 20;

/** A device on which models are loaded and disposed, and how often. */
export interface Cycles {
  readonly device: Device;
  /** Sequential loads of one model. */
  readonly loads: number;
  /** The number of files that rounds choose from, at most four. */
  readonly files: number;
  /** Rounds in which two models of each file are loaded at once. */
  readonly rounds: number;
  /** The number of objects that the driver holds, by kind, if it reports that. */
  readonly driverObjects?: () => Readonly<Record<string, number>>;
}

/** What the process and the device hold without a model. */
interface Held {
  readonly free: number;
  readonly live: number;
  readonly descriptors: number;
  readonly threads: number;
}

/** The driver pools objects: their number depends on past concurrency. */
const MAX_POOLED = 16;

/**
 * Models are loaded, generate and are disposed: afterwards everything is as before, and the device had the same bytes
 * each time.
 */
export async function checkCycles({
  device,
  loads,
  files: count,
  rounds,
  driverObjects,
}: Cycles): Promise<void> {
  const sharedMemory = await SharedDeviceMemory.open(device);
  const files = await Promise.all(FORMATS.slice(0, count).map((format) => tinyBytes(format)));
  const held = async (): Promise<Held> => ({
    free: (await device.memory()).free,
    live: device.liveObjects(),
    descriptors: entries('/proc/self/fd'),
    threads: entries('/proc/self/task'),
  });
  const life = async (bytes: Uint8Array): Promise<string> => {
    const gguf = await GgufFile.open(new MemorySource(bytes, 'tiny.gguf'));
    const parts = { gguf, device, sharedMemory, architectures: ALL_ARCHITECTURES };
    await using model = await LanguageModel.open(parts, { context: 32, batch: 2 });
    const text = await model.generate([1, 40, 41], { temperature: 0, maxTokens: 2, ignoreEnd: true }).text();
    await model.loaded;
    return `${text} ${await weightsHash(model)}`;
  };
  const alone: string[] = [];
  for (const bytes of files) alone.push(await life(bytes));
  // All at once first, so that pools of streams and transfers reach their size.
  assert.deepEqual(await Promise.all([...files, ...files].map(life)), [...alone, ...alone]);
  const before = await held();
  const driver = driverObjects?.() ?? {};
  const { rss } = process.memoryUsage();
  const [first] = files as [Uint8Array];
  for (let i = 0; i < loads; i++) {
    assert.equal(await life(first), alone[0], `load ${i}`);
    if (i % 10 === 0) await checkFlat(held, before, `load ${i}`);
  }
  for (let round = 0; round < rounds; round++) {
    assert.deepEqual(await Promise.all([...files, ...files].map(life)), [...alone, ...alone]);
  }
  await checkFlat(held, before, 'all at once');
  for (const [kind, now] of Object.entries(driverObjects?.() ?? {})) {
    assert.ok(now <= (driver[kind] ?? 0) + MAX_POOLED, `${now} ${kind}, ${driver[kind]} before`);
  }
  const grown = (process.memoryUsage().rss - rss) / MEBIBYTE;
  assert.ok(grown < 200, `${grown.toFixed(0)} MiB more`);
}

/** Nothing more is held than before. Threads and descriptors end shortly after their use, those of pools eventually. */
async function checkFlat(held: () => Promise<Held>, before: Held, when: string): Promise<void> {
  let now = before;
  await until(
    () => `${when}: ${JSON.stringify({ now, before })}`,
    async () => {
      now = await held();
      const isFlat = now.descriptors <= before.descriptors && now.threads <= before.threads;
      return isFlat && now.live === before.live && now.free === before.free;
    },
  );
}

async function weightsHash({ plan, device }: LanguageModel): Promise<string> {
  await using stream = device.createStream('check');
  const hash = createHash('sha1');
  for (const { range, byteLength } of plan.weights) {
    const bytes = new Uint8Array(byteLength);
    await stream.download({ ...range, byteLength }, bytes);
    hash.update(bytes);
  }
  return hash.digest('hex');
}

function entries(path: string): number {
  return process.platform === 'linux' ? readdirSync(path).length : 0;
}

import { readdirSync } from 'node:fs';
import type { Device } from '../../src/device/index.ts';
import { LanguageModel } from '../../src/engine/language-model.ts';
import { Residency } from '../../src/load/residency.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { openGguf } from '../../src/node/index.ts';

const LOADS = 100;
const AT_EACH_END = 10;
const MEBIBYTE = 2 ** 20;

/** Prints whether loading one model again and again becomes slower, and whether anything is left behind. */
export async function printRepeats(path: string, openDevice: () => Promise<Device>): Promise<void> {
  await using device = await openDevice();
  const residency = await Residency.open(device);
  const load = async (): Promise<number> => {
    const gguf = await openGguf(path);
    const parts = { gguf, device, residency, architectures: ALL_ARCHITECTURES };
    const begin = performance.now();
    await using model = await LanguageModel.open(parts, { context: 512, batch: 16, load: 'eager' });
    const seconds = (performance.now() - begin) / 1000;
    for await (const _ of model.generate([1, 2], { temperature: 0, maxTokens: 1, ignoreEnd: true }));
    return seconds;
  };
  // Kernels are compiled, and what is pooled has its size.
  for (let i = 0; i < AT_EACH_END; i++) await load();
  const before = await held(device);
  const times: number[] = [];
  for (let i = 0; i < LOADS; i++) times.push(await load());
  const ratio = meanOf(times.slice(-AT_EACH_END)) / meanOf(times.slice(0, AT_EACH_END));
  const first = (1000 * meanOf(times.slice(0, AT_EACH_END))).toFixed(1);
  console.log(
    `${LOADS} loads: the first ten ${first} ms each, the last ten ${ratio.toFixed(3)} times as long`,
  );
  const after = await held(device);
  const changes = Object.keys(before).map((kind) => `${kind} ${before[kind]} to ${after[kind]}`);
  console.log(changes.join(', '));
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

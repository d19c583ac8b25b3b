import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Device } from '../../src/device/index.ts';
import { AsyncModelLoader, type LoaderOptions, type LoadReport } from '../../src/load/async-model-loader.ts';
import type { DecodePlace } from '../../src/load/chunk.ts';
import { LazyTensor } from '../../src/load/lazy-tensor.ts';

/** The fastest of several loads, and its cost for the process. */
export interface LoadMeasurement extends LoadReport {
  readonly gigabytesPerSecond: number;
  /** Billions of bytes per second that reached the device: more than were read if weights are decoded. */
  readonly uploadedGigabytesPerSecond: number;
  /** The time of the first load, which pins the ring and runs code that has not been compiled by the JIT. */
  readonly firstSeconds: number;
  /** The 99th percentile of the main thread's delays, in milliseconds. */
  readonly delayMilliseconds: number;
  /** Memory growth of the process while loading, in MiB. */
  readonly grownMebibytes: number;
}

/** The same weights in the same memory, decoded elsewhere. */
export function decodedOn(
  place: DecodePlace,
  weights: readonly LazyTensor[],
  loader: AsyncModelLoader,
): LazyTensor[] {
  return weights.map((weight) => {
    const other = new LazyTensor(weight);
    other.loadBy(loader, { decode: place });
    other.place(weight.range);
    return other;
  });
}

/** Loads the weights `rounds` times after one that pins the ring and starts the threads. */
export async function measureLoad(
  device: Device,
  weights: readonly LazyTensor[],
  options: LoaderOptions,
  rounds: number,
): Promise<LoadMeasurement> {
  const rss = process.memoryUsage().rss;
  let peak = rss;
  const watch = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 5);
  await using loader = new AsyncModelLoader(device, options);
  const first = await loader.load(weights);
  const delays = monitorEventLoopDelay({ resolution: 1 });
  delays.enable();
  let best: LoadReport | undefined;
  for (let round = 0; round < rounds; round++) {
    const report = await loader.load(weights);
    if (!best || report.seconds < best.seconds) best = report;
  }
  delays.disable();
  clearInterval(watch);
  if (!best) throw new Error('at least one round is measured');
  const uploaded = weights.reduce((sum, { byteLength }) => sum + byteLength, 0);
  return {
    ...best,
    firstSeconds: first.seconds,
    gigabytesPerSecond: best.bytes / best.seconds / 1e9,
    uploadedGigabytesPerSecond: uploaded / best.seconds / 1e9,
    delayMilliseconds: delays.percentile(99) / 1e6,
    grownMebibytes: (peak - rss) / 2 ** 20,
  };
}

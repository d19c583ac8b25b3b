import type { Device, Stream } from '../../src/device/index.ts';

/** Minimum duration of a measurement in milliseconds, so that its overhead does not matter. */
const MEASURED = 40;

/** Milliseconds of one run: the median of several measurements of several runs each, on streams of all devices. */
export async function timed(
  devices: readonly Device[],
  run: (streams: readonly Stream[]) => void,
  rounds = 5,
): Promise<number> {
  const streams = devices.map((device) => device.createStream('bench'));
  const several = async (repetitions: number) => {
    const start = performance.now();
    for (let i = 0; i < repetitions; i++) run(streams);
    await Promise.all(streams.map((stream) => stream.synchronize()));
    return (performance.now() - start) / repetitions;
  };
  await several(2);
  const repetitions = Math.ceil(MEASURED / (await several(2)));
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) times.push(await several(repetitions));
  for (const stream of streams) await stream[Symbol.asyncDispose]();
  return times.sort((a, b) => a - b)[rounds >> 1] ?? Number.NaN;
}

import type { Device, LiveObjects, Stream } from '../../device/index.ts';

/** Something of each device, or of some of them. Throws what `create` does, with nothing left of what it created before. */
export function createOnEach<T extends Disposable | undefined>(
  devices: readonly Device[],
  create: (device: Device, index: number) => T,
): T[] {
  const created: T[] = [];
  try {
    for (const [index, device] of devices.entries()) created.push(create(device, index));
  } catch (error) {
    for (const one of created) one?.[Symbol.dispose]();
    throw error;
  }
  return created;
}

/**
 * A stream of each device. If one cannot be created, throws what its device does, and ends those before it, which are among the `live`
 * objects until they have ended.
 */
export function createStreams(
  devices: readonly Device[],
  labelOf: (index: number) => string,
  live: LiveObjects,
): Stream[] {
  const streams: Stream[] = [];
  try {
    for (const [index, device] of devices.entries()) streams.push(device.createStream(labelOf(index)));
  } catch (error) {
    for (const stream of streams) endAmong(live, stream);
    throw error;
  }
  return streams;
}

function endAmong(live: LiveObjects, stream: Stream): void {
  const end = async () => {
    await stream[Symbol.asyncDispose]();
    live.remove(ending);
  };
  const ended = end();
  const ending = live.add({ [Symbol.asyncDispose]: () => ended });
}

/** All of what is being recorded, or the first error, with none of it left. */
export async function allRecorded<T>(
  recording: readonly Promise<T>[],
  dispose: (recorded: T) => void,
): Promise<readonly T[]> {
  const done = await Promise.allSettled(recording);
  const recorded = done.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const failed = done.find((one) => one.status === 'rejected');
  if (!failed) return recorded;
  for (const one of recorded) dispose(one);
  throw failed.reason;
}

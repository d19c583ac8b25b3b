import type { Device, LiveObjects, Stream } from '../../device/index.ts';

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

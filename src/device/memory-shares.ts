import type { Device, MemoryInfo } from './device.ts';

/**
 * The memory of each of some devices that are used together; of a group, that of its rank that has least. Devices in the host's memory
 * find all of it, each for itself: they have equal shares.
 */
export async function memoryShares(devices: readonly Device[]): Promise<readonly MemoryInfo[]> {
  const ranks = devices.flatMap(ranksOf);
  const found = new Map(await Promise.all(ranks.map(async (rank) => [rank, await rank.memory()] as const)));
  const sharing = ranks.filter(isOnHost);
  const bytesOf = (rank: Device, size: keyof MemoryInfo) => found.get(rank)?.[size] ?? 0;
  const shareOf = (size: keyof MemoryInfo) =>
    Math.floor(Math.max(...sharing.map((rank) => bytesOf(rank, size))) / sharing.length);
  const share = { total: shareOf('total'), free: shareOf('free') };
  const leastOf = (device: Device, size: keyof MemoryInfo) =>
    Math.min(
      ...ranksOf(device).map((rank) =>
        Math.min(bytesOf(rank, size), isOnHost(rank) ? share[size] : Number.POSITIVE_INFINITY),
      ),
    );
  return devices.map((device) => ({ total: leastOf(device, 'total'), free: leastOf(device, 'free') }));
}

function ranksOf(device: Device): readonly Device[] {
  return device.devices ?? [device];
}

function isOnHost({ memoryRules }: Device): boolean {
  return memoryRules.pinnedInside('inputs');
}

import { alignUp } from '../../base/bytes.ts';
import {
  type DequantizedFacts,
  type Device,
  type DeviceInfo,
  type GroupFacts,
  type MemoryInfo,
  type MemoryRules,
  totalOf,
} from '../../device/index.ts';
import { foreignText } from './foreign-text.ts';

/** What is known of a device before it is used, as its process tells it. */
export interface RemoteFacts {
  readonly info: DeviceInfo;
  readonly memory: MemoryInfo;
  readonly rules: RemoteRules;
  readonly promptRows?: number | undefined;
  readonly dequantized?: DequantizedFacts | undefined;
  /** Row capacities below any that is asked for. */
  readonly rowCapacities: readonly number[];
  readonly group?: GroupFacts | undefined;
  /** The fingerprint of the model of which its process has a file. */
  readonly model?: string | undefined;
}

/** How a device allocates memory, as numbers: found by asking its rules. */
export interface RemoteRules {
  /** The bytes of which allocations are multiples; smaller ones share them. */
  readonly unit: number;
  /** Device memory that a running model takes by itself. */
  readonly own: number;
  readonly largestBuffer: number;
  /** Whether pinned memory is the device's memory. */
  readonly pinnedInside: boolean;
  /** Buffers in which rows wait to be packed, of a chunk and some more bytes each: so many, and so many a stream. */
  readonly waiting: { readonly fixed: number; readonly perStream: number; readonly extra: number };
}

/** Rows of more than any model's steps, for capacities that do not depend on them. */
const MANY_ROWS = 2 ** 24;
/** A chunk's size, for what is more than that. */
const CHUNK = 2 ** 20;

/** Describes a device for another process to use it, and the `model` of which there is a file. */
export async function factsOf(device: Device, model?: string): Promise<RemoteFacts> {
  const { info, memoryRules, promptRows, dequantized, group } = device;
  return {
    info,
    memory: await device.memory(),
    rules: describeRules(memoryRules),
    promptRows,
    dequantized,
    rowCapacities: device.rowCapacities(MANY_ROWS).filter((rows) => rows < MANY_ROWS),
    group,
    model,
  };
}

function describeRules(rules: MemoryRules): RemoteRules {
  const [one, two] = [1, 2].map((streams) => rules.waiting(streams, CHUNK)) as [
    readonly number[],
    readonly number[],
  ];
  const perStream = two.length - one.length;
  return {
    unit: Math.max(1, rules.footprint([1])),
    own: rules.own([]),
    largestBuffer: rules.largestBuffer,
    pinnedInside: rules.pinnedInside('weights'),
    waiting: { fixed: one.length - perStream, perStream, extra: Math.max(CHUNK, ...one) - CHUNK },
  };
}

/**
 * The rules of a device that is described like this. Rows wait there to be packed in its pinned memory, and inputs wait here: they are
 * its memory only if it is `here`, in the memory of the same host.
 */
export function rulesOf(
  { unit, own, largestBuffer, pinnedInside, waiting }: RemoteRules,
  here: boolean,
): MemoryRules {
  return {
    footprint: (byteLengths) => {
      const isLarge = (bytes: number) => bytes > unit / 2;
      const large = byteLengths.filter(isLarge).map((bytes) => alignUp(bytes, unit));
      const small = totalOf(byteLengths.filter((bytes) => !isLarge(bytes)));
      return totalOf(large) + alignUp(small, unit);
    },
    own: () => own,
    largestBuffer,
    waiting: (streams, chunkBytes) => {
      const buffers = waiting.fixed + waiting.perStream * streams;
      return Array.from({ length: buffers }, () => chunkBytes + waiting.extra);
    },
    pinnedInside: (use) => pinnedInside && (use === 'weights' || here),
  };
}

/** Facts as they arrived. Throws for what is none. */
export function checkFacts(found: unknown): RemoteFacts {
  const { info, memory, group, rules, rowCapacities, dequantized, model } = (found ??
    {}) as Partial<RemoteFacts>;
  const { unit, own, largestBuffer, waiting } = rules ?? {};
  const counts = [memory?.total, memory?.free, unit, own, largestBuffer, waiting?.fixed, waiting?.perStream];
  const isModel = model === undefined || typeof model === 'string';
  const isGroup = group === undefined || (isCount(group.ranks) && isCount(group.gatherAtLeast));
  const areCopies =
    dequantized === undefined || (isCount(dequantized?.minRows) && isCount(dequantized.maxBytes));
  const isInfo = typeof info?.backend === 'string' && typeof info.name === 'string' && isRecord(info.details);
  const areRows = Array.isArray(rowCapacities) && rowCapacities.every(isCount);
  if (
    !isInfo ||
    !isGroup ||
    !isModel ||
    !areRows ||
    !areCopies ||
    ![...counts, waiting?.extra].every(isCount)
  ) {
    throw new RangeError('what it says of its device is not known here');
  }
  return { ...(found as RemoteFacts), info: shownInfo(info as DeviceInfo) };
}

/** What people are shown of a device. */
function shownInfo({ backend, name, details, ...rest }: DeviceInfo): DeviceInfo {
  const shown = Object.entries(details).map(([what, value]) => [
    foreignText(what),
    typeof value === 'string' ? foreignText(value) : value,
  ]);
  return {
    ...rest,
    backend: foreignText(backend),
    name: foreignText(name),
    details: Object.fromEntries(shown),
  };
}

function isRecord(found: unknown): boolean {
  return typeof found === 'object' && found !== null;
}

function isCount(found: unknown): boolean {
  return Number.isSafeInteger(found) && (found as number) >= 0;
}

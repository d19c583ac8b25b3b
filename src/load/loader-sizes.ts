import { alignUp } from '../base/bytes.ts';
import { WINDOW_SLACK_BYTES } from './read-window.ts';

/** The sizes of a loader. */
export interface LoaderSizes {
  /** Reads in flight. */
  readonly readers: number;
  /** Streams over which chunks are uploaded. */
  readonly streams: number;
  /** Pinned slots: chunks anywhere between file and device. */
  readonly slots: number;
  readonly slotBytes: number;
}

const MIB = 2 ** 20;

/** Enough for memory that a device maps, which more reads in flight make slower by a quarter. */
export const DEFAULT_SIZES: LoaderSizes = { readers: 8, streams: 4, slots: 16, slotBytes: 4 * MIB };

/** Where the device pins the ring as it is: eight reads in flight leave a third of a PCIe 5 link unused. */
const PINNED_SIZES: LoaderSizes = { readers: 16, streams: 4, slots: 28, slotBytes: 4 * MIB };

/**
 * For streamed layers, which are uploaded in every step: the larger ring is pinned once, and with more reads in flight no
 * reading thread waits for the main thread to issue the next read. While one stream copies, rows of the other are repacked;
 * copies over more than two streams compete for the link, which costs 3 %.
 */
const STREAMING_SIZES: LoaderSizes = { readers: 16, streams: 2, slots: 24, slotBytes: 8 * MIB };

/** If the host decodes, the main thread's work per chunk would be the bottleneck: larger chunks halve it. */
export const DECODING_SIZES: LoaderSizes = { ...DEFAULT_SIZES, slotBytes: 8 * MIB };

/** Over several links, reads are the bottleneck, and then the main thread's work per chunk, which each device gets a part of. */
const SPLIT_SIZES: LoaderSizes = { readers: 28, streams: 4, slots: 40, slotBytes: 4 * MIB };

/** What the choice of sizes depends on. */
export interface LoadKind {
  /** Whether some layers are streamed: uploaded again in every step. */
  readonly isStreamed: boolean;
  /** Whether the host decodes some weights. */
  readonly isDecoded: boolean;
  /** Whether each weight goes to several devices. */
  readonly isSplit: boolean;
  /** Whether the device pins the ring where it is, instead of mapping memory of its own. */
  readonly isPinned: boolean;
}

/** Slots are aligned to pages. */
const PAGE_BYTES = 64 * 1024;

/** Sizes for weights of these byte lengths, on the device or in the file, whichever is more. */
export function sizesFor(
  weights: readonly number[],
  { isStreamed, isDecoded, isSplit, isPinned }: LoadKind,
): LoaderSizes {
  const plain = isPinned ? PINNED_SIZES : DEFAULT_SIZES;
  const whole = isSplit ? SPLIT_SIZES : isDecoded ? DECODING_SIZES : plain;
  const { slots, slotBytes, ...counts } = isStreamed ? STREAMING_SIZES : whole;
  const fitting = Math.min(slotBytes, alignUp(Math.max(1, ...weights), PAGE_BYTES));
  const chunks = weights.reduce((sum, bytes) => sum + Math.ceil(bytes / fitting), 0);
  return { ...counts, slots: Math.max(1, Math.min(slots, chunks)), slotBytes: fitting };
}

/** Bytes that a loader of these sizes pins. */
export function ringBytes({ slots, slotBytes }: LoaderSizes): number {
  return slots * (slotBytes + WINDOW_SLACK_BYTES);
}

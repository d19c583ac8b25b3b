import { alignUp } from '../base/bytes.ts';
import { WINDOW_SLACK_BYTES } from './read-window.ts';

/** How much of a loader there is of each kind. */
export interface LoaderSizes {
  /** Reads in flight. */
  readonly readers: number;
  /** Streams that carry copies to the device. */
  readonly streams: number;
  /** Pinned slots: chunks that are anywhere between the file and the device. */
  readonly slots: number;
  readonly slotBytes: number;
}

const MIB = 2 ** 20;

/**
 * What saturates a PCIe 5 link from the page cache for as long as a load takes. More reads at once are a little faster where
 * memory is pinned, and slower by a quarter where it is mapped.
 */
export const DEFAULT_SIZES: LoaderSizes = { readers: 8, streams: 4, slots: 16, slotBytes: 4 * MIB };

/**
 * What keeps it saturated while layers come anew in every step: pinning more is paid once, turns cost less, and no thread
 * that reads waits for the main thread to send the next read. One stream copies while the other's rows are laid out; copies
 * of more at once take turns on the link, which costs 3 %.
 */
const STREAMING_SIZES: LoaderSizes = { readers: 16, streams: 2, slots: 24, slotBytes: 8 * MIB };

/** What the main thread does for a chunk would be the bound where the host decodes: it has half as many to do it for. */
export const DECODING_SIZES: LoaderSizes = { ...DEFAULT_SIZES, slotBytes: 8 * MIB };

/** What is done with weights that changes how they are loaded best. */
export interface LoadKind {
  /** Some come anew in every step. */
  readonly isStreamed: boolean;
  /** The host decodes some. */
  readonly isDecoded: boolean;
}

/** Slots begin at pages. */
const PAGE_BYTES = 64 * 1024;

/** Sizes for weights that take so many bytes each, on the device or in the file, whichever is more. */
export function sizesFor(weights: readonly number[], { isStreamed, isDecoded }: LoadKind): LoaderSizes {
  const whole = isDecoded ? DECODING_SIZES : DEFAULT_SIZES;
  const { slots, slotBytes, ...counts } = isStreamed ? STREAMING_SIZES : whole;
  const fitting = Math.min(slotBytes, alignUp(Math.max(1, ...weights), PAGE_BYTES));
  const chunks = weights.reduce((sum, bytes) => sum + Math.ceil(bytes / fitting), 0);
  return { ...counts, slots: Math.max(1, Math.min(slots, chunks)), slotBytes: fitting };
}

/** Memory that a loader of these sizes pins. */
export function ringBytes({ slots, slotBytes }: LoaderSizes): number {
  return slots * (slotBytes + WINDOW_SLACK_BYTES);
}

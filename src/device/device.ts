import type { TensorFormat } from '../formats/tensor-format.ts';
import type { OpGraph } from '../ops/graph.ts';
import type { DeviceBuffer, MemoryRules, PinnedBuffer, PinnedUse } from './memory.ts';
import type { LinkChoice, PeerLink, PeerPlace } from './peer-link.ts';
import type { Executable, PackedWeight, Program, Step } from './program.ts';
import type { Stream } from './stream.ts';

/** The description of a device, for people and for `rocmforge devices`. */
export interface DeviceInfo {
  /** `cpu`, `hip`, `cuda`, `webgpu`, `reference` or `null`. */
  readonly backend: string;
  /** The hardware's name as reported by its driver. */
  readonly name: string;
  /** Facts worth showing: threads, instruction sets, driver versions. */
  readonly details: Readonly<Record<string, string | number | boolean>>;
}

/** What a group of devices says of itself: graphs for it have a graph for each rank (`OpGraph.ranks`). */
export interface GroupFacts {
  /** Its devices. */
  readonly ranks: number;
  /** Elements of a matrix from which on it pays to cut it by rows even if its whole result has to be gathered. */
  readonly gatherAtLeast: number;
}

/** What a device says of dequantized copies of weights, which it has beside quantized ones where graphs allow it. */
export interface DequantizedFacts {
  /** Minimum rows of a step that is faster for them. */
  readonly minRows: number;
  /** Bytes of copies up to which a model takes so much of its memory unasked. */
  readonly maxBytes: number;
}

/** Sizes of the memory for buffers, in bytes. */
export interface MemoryInfo {
  readonly total: number;
  readonly free: number;
}

/**
 * Owns memory, streams and programs; handles bytes, not models. Work is ordered within a stream and unordered between
 * streams except by events. All methods that create something, except `createBuffer`, `createPinned` and
 * `createStream`, may be slow and are awaited; running never compiles and never allocates. Failures are typed:
 * `OUT_OF_MEMORY`, `OP_UNSUPPORTED`, `DEVICE_LOST`. Disposing a device disposes its streams and frees everything
 * created from it.
 */
export interface Device extends AsyncDisposable {
  readonly info: DeviceInfo;
  /** Resolves with the reason if the device can no longer be used; never rejects. */
  readonly lost: Promise<Error>;
  readonly memoryRules: MemoryRules;
  /** How models are split over it, if it is a group of devices. Absent on a single device. */
  readonly group?: GroupFacts | undefined;
  /**
   * The devices that compute a model's layers one behind another, if it is a pipeline: a graph for it says which of them runs it
   * (`OpGraph.stage`), and a buffer is that of some of them.
   */
  readonly stages?: readonly Device[];
  /** The single devices that it consists of, by rank or by stage, if it is a group or a pipeline. */
  readonly devices?: readonly Device[];
  memory(): Promise<MemoryInfo>;
  /**
   * Allocates device memory with undefined contents. `label` identifies it in messages and traces; `stages` says on which of a
   * pipeline's stages it is: by default on all of them, for what only the host writes. Throws `OUT_OF_MEMORY`, `INVALID_ARGUMENT`.
   */
  createBuffer(byteLength: number, label: string, stages?: readonly number[]): DeviceBuffer;
  /**
   * Allocates memory of the host that the device's kernels read and write as its own, over its link, and that streams pack into and
   * copy from: for what does not fit into the device's memory, against which it does not count. Throws `OUT_OF_MEMORY`,
   * `INVALID_ARGUMENT`. Absent on a device whose kernels reach no memory but its own, and where that is the host's.
   */
  createHostBuffer?(byteLength: number, label: string): DeviceBuffer;
  /**
   * Allocates host memory that the device copies to and from without staging, with undefined contents. `use` defaults
   * to `inputs`. Throws `INVALID_ARGUMENT`.
   */
  createPinned(byteLength: number, label: string, use?: PinnedUse): PinnedBuffer;
  /**
   * Pins memory of the caller, whole pages of shared memory, so that the device copies from it without staging; it must
   * outlive the pinned buffer. Throws if it cannot be pinned. Absent on a device that cannot do this, or whose own
   * pinned memory is shared between threads.
   */
  pin?(bytes: Uint8Array, label: string): PinnedBuffer;
  /**
   * Like `pin`, for read-only pages such as those of a mapped file. Absent if the device or its driver cannot copy from
   * such pages.
   */
  readonly pinReadOnly?: ((bytes: Uint8Array, label: string) => PinnedBuffer) | undefined;
  /**
   * True if its streams pack rows that are cut out of longer ones (`PinnedRows.cut`), and from pinned memory of any device of the same
   * driver. Absent if they do not.
   */
  readonly packsCuts?: boolean;
  createStream(label: string): Stream;
  /** Prompt tokens of a step that fill the hardware, if these are more than usual. */
  readonly promptRows?: number | undefined;
  /** Absent on a device that makes no dequantized copies of weights. */
  readonly dequantized?: DequantizedFacts | undefined;
  /**
   * The row capacities for which a model of at most `rows` token rows should be compiled, in ascending order; the last
   * is `rows`. A device whose step time is proportional to the rows in use needs one.
   */
  rowCapacities(rows: number): readonly number[];
  /** Chooses kernels, scratch and weight layouts for a graph, from its description alone. */
  compile(graph: OpGraph): Promise<Program>;
  /**
   * Prepares the device for rows in another format than a part's, which it decodes while packing; false if it cannot.
   * Absent on a device that never does. Bit-identical to the formats' own decoders.
   */
  readyToDecode?(weight: PackedWeight, part: number, format: TensorFormat): Promise<boolean>;
  /**
   * Captures executables, in this order, into one replayable step. Rejects with `BINDING` for executables of another
   * device, and with `DISPOSED` if bound memory was disposed. A linked rank's step with collectives may have to wait for those of the
   * others, of which the n-th on each belong together.
   */
  record(executables: readonly Executable[], label: string): Promise<Step>;
  /**
   * Waits until the device has the kernels that it will keep: until then it may compute the same with slower ones. Absent on a
   * device whose kernels do not change. Never rejects.
   */
  settle?(): Promise<void>;
  /**
   * Links devices of one kind, this one being the first of the ranks: programs that they compile from then on may contain collectives,
   * which the ranks' kernels compute with one another, or a library. Steps with collectives have to be run on all ranks, in the same order
   * and on one stream of each. Resolves to undefined if the devices cannot be linked; absent on a device that never can be. Called once,
   * before anything is compiled. Rejects with `OUT_OF_MEMORY`, with `INVALID_ARGUMENT` for an unknown choice, with `DEVICE_UNAVAILABLE`
   * where there is no link as was asked for, and with `DISPOSED` if one of the devices ends meanwhile.
   */
  linkPeers?(
    ranks: readonly Device[],
    options?: { readonly link?: LinkChoice | undefined },
  ): Promise<PeerLink | undefined>;
  /**
   * Makes an id by which ranks in several processes find one another through a library, of which this device is rank 0. Absent on a
   * device that is never linked. Rejects with `DEVICE_UNAVAILABLE` where there is no such library.
   */
  newPeerId?(): Promise<Uint8Array>;
  /**
   * Links this device with those of other processes, each of which joins with the same id and another rank: then as `linkPeers`. Absent on
   * a device that is never linked. Rejects with `DEVICE_UNAVAILABLE` where there is no library, or not all ranks join, and with the reason
   * of the signal.
   */
  joinPeers?(place: PeerPlace): Promise<PeerLink>;
  /**
   * Sends what was asked of a device of another process; resolves when it has left this one, undefined if it has already. This thread may
   * then be held up until the other one does it. Never rejects. Absent on devices that this process has itself.
   */
  flushed?(): Promise<void> | undefined;
  /** Number of buffers, pinned buffers, streams and steps that have been created but not disposed. */
  liveObjects(): number;
}

import type { TensorFormat } from '../formats/tensor-format.ts';
import type { OpGraph } from '../ops/graph.ts';
import type { DeviceBuffer, MemoryRules, PinnedBuffer, PinnedUse } from './memory.ts';
import type { Executable, PackedWeight, Program, Step } from './program.ts';
import type { Stream } from './stream.ts';

/** What a device is, for people and for `rocmforge devices`. */
export interface DeviceInfo {
  /** `cpu`, `hip`, `cuda`, `webgpu`, `reference` or `null`. */
  readonly backend: string;
  /** The hardware's name as its driver gives it. */
  readonly name: string;
  /** Facts worth showing: threads, instruction sets, driver versions. */
  readonly details: Readonly<Record<string, string | number | boolean>>;
}

/** Bytes of memory that buffers come from. */
export interface MemoryInfo {
  readonly total: number;
  readonly free: number;
}

/**
 * Owns memory, streams and programs; knows bytes, not models. Work is ordered within a stream and unordered between
 * streams except by events. All creation but `createBuffer`, `createPinned` and `createStream` may be slow and is awaited;
 * running never compiles and never allocates. Failures are typed: `OUT_OF_MEMORY`, `OP_UNSUPPORTED`, `DEVICE_LOST`.
 * Disposing a device ends its streams and frees everything created from it.
 */
export interface Device extends AsyncDisposable {
  readonly info: DeviceInfo;
  /** Resolves with the reason when the device can no longer be used; never rejects. */
  readonly lost: Promise<Error>;
  readonly memoryRules: MemoryRules;
  memory(): Promise<MemoryInfo>;
  /** Memory on the device, its contents undefined. `label` names it in messages and traces. Throws `OUT_OF_MEMORY`, `INVALID_ARGUMENT`. */
  createBuffer(byteLength: number, label: string): DeviceBuffer;
  /**
   * Host memory that the device copies from and to without staging, its contents undefined. For `inputs` unless said
   * otherwise. Throws `INVALID_ARGUMENT`.
   */
  createPinned(byteLength: number, label: string, use?: PinnedUse): PinnedBuffer;
  /**
   * Pins memory that is the caller's, whole pages that threads share, so that it is copied from without staging; it has to
   * outlive the pinned buffer. Throws where it cannot be pinned. Absent on a device that cannot do this, or whose own pinned
   * memory threads share.
   */
  pin?(bytes: Uint8Array, label: string): PinnedBuffer;
  /**
   * As `pin`, of pages that may only be read, such as those of a mapped file. Absent where the device or its driver does not
   * copy from such pages.
   */
  readonly pinReadOnly?: ((bytes: Uint8Array, label: string) => PinnedBuffer) | undefined;
  createStream(label: string): Stream;
  /**
   * The capacities for which a model of at most `rows` token rows is worth compiling: ascending, the last is `rows`. A device
   * whose steps cost what the rows in use cost needs one.
   */
  rowCapacities(rows: number): readonly number[];
  /** Chooses kernels, scratch and weight layouts for a graph, from its description alone. */
  compile(graph: OpGraph): Promise<Program>;
  /**
   * Readies the device for rows of another format than a part's, which it decodes while it packs them; false where it does
   * not. Absent on a device that never does. Bit for bit what the formats' own decoders give.
   */
  readyToDecode?(weight: PackedWeight, part: number, format: TensorFormat): Promise<boolean>;
  /**
   * Captures executables, in this order, into one replayable step. Rejects with `BINDING` for another device's, `DISPOSED`
   * where memory that one is bound to is gone.
   */
  record(executables: readonly Executable[], label: string): Promise<Step>;
  /** Buffers, pinned buffers, streams and steps that were created and not yet disposed. */
  liveObjects(): number;
}

/**
 * `rocmforge/device`: what a device is, for those who hold its buffers, streams and events, and for those who write one; the
 * operators that graphs are made of; the formats of tensors; where bytes come from and go to.
 */
export type { UnsharedBytes } from '../base/web-types.ts';
export type { KindTable, OfKind, OfSomeKind } from '../base/kind-table.ts';
export type {
  Address,
  AsyncNativeFunction,
  Bindings,
  BlockDecoder,
  BufferRange,
  DecodeWork,
  Device,
  DeviceBuffer,
  DeviceEvent,
  DeviceInfo,
  FileRows,
  DequantizedFacts,
  GroupFacts,
  Executable,
  Ffi,
  MemoryInfo,
  MemoryRules,
  NativeArguments,
  NativeFunction,
  NativeLibrary,
  NativeMemory,
  NativeType,
  NativeValues,
  PackedWeight,
  PeerLink,
  PeerPlace,
  PinnedBuffer,
  PinnedRows,
  PinnedUse,
  Program,
  RowCut,
  SharedBlock,
  Step,
  Stream,
  WeightRows,
  WorkerHandle,
  WorkerHost,
  WorkerPort,
} from '../device/index.ts';
export { BUFFER_ALIGNMENT, MemoryBudget, memoryRules, wholeOf } from '../device/index.ts';
export * from '../formats/index.ts';
export {
  BlobSource,
  type ByteSink,
  type ByteSource,
  CheckedSource,
  type HttpRangeOptions,
  HttpRangeSource,
  type MappedRange,
  MemorySink,
  MemorySource,
  type SourceResolver,
} from '../io/index.ts';
export * from '../ops/index.ts';
export type { Recorder } from '../ops/recorder.ts';

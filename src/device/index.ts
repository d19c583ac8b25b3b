export { bound, boundBuffers, buffersOf, checkBindings } from './binding-check.ts';
export type { BlockDecoder, DecodeWork, SharedBlock } from './block-decoder.ts';
export { checkByteLength } from './byte-length.ts';
export type { DequantizedFacts, Device, DeviceInfo, GroupFacts, MemoryInfo } from './device.ts';
export type {
  Address,
  AsyncNativeFunction,
  Ffi,
  NativeArguments,
  NativeFunction,
  NativeLibrary,
  NativeMemory,
  NativeType,
  NativeValues,
} from './ffi.ts';
export { HostPinned } from './host-pinned.ts';
export { headGroups } from './gpu/attention.ts';
export { dequantizedWeights, unaskedCopyBytes } from './gpu/dequantized.ts';
export type {
  AttentionFacts,
  ElementTileFacts,
  ExpertFacts,
  GpuFacts,
  SplitFacts,
  Wkv7Facts,
} from './gpu/facts.ts';
export type {
  ActivationForm,
  AddedExpertsIntent,
  AttentionIntent,
  AttentionTilesIntent,
  CombineResidualIntent,
  ConvertIntent,
  Counters,
  ElementChainIntent,
  ElementProduct,
  ElementProductsIntent,
  ElementStep,
  Epilogue,
  ExpertProductIntent,
  GatedEpilogue,
  GatedExpertsIntent,
  HeadProductIntent,
  HeadGroup,
  HeadsAppendIntent,
  HeadsNormAppendIntent,
  Intent,
  IntentWithout,
  JoinedRows,
  HalfType,
  LibraryProductIntent,
  MatvecGroupIntent,
  MatvecIntent,
  FusedGatedDeltaIntent,
  FusedGatedDeltaOperands,
  FusedWkv7Intent,
  GatedNormIntent,
  ShiftLerpsIntent,
  NormResidualIntent,
  ReduceResidualIntent,
  PushedSumIntent,
  OptionalKind,
  Place,
  ProductInput,
  ProductIntent,
  RoundedProductIntent,
  RoundIntent,
  RowPart,
  SplitHalvesIntent,
  SplitProductIntent,
  Wkv7Intent,
  FusedWkvOperands,
} from './gpu/intent.ts';
export type { HeadOps } from './gpu/match-heads.ts';
export { planGraph } from './gpu/plan-graph.ts';
export { MAX_GROUPED } from './gpu/products.ts';
export { q8Bytes, rowBucket } from './gpu/planned-activations.ts';
export { HostDevice, type HostDeviceSetup } from './host/host-device.ts';
export { HostEvent } from './host/host-event.ts';
export { bytesOf, HostBuffer } from './host/host-memory.ts';
export { type HostExecutable, HostProgram } from './host/host-program.ts';
export { HostStream, type HostWork } from './host/host-stream.ts';
export { LiveObjects } from './live-objects.ts';
export {
  BUFFER_ALIGNMENT,
  type BufferRange,
  type DeviceBuffer,
  type MemoryRules,
  memoryRules,
  type PinnedBuffer,
  type PinnedUse,
  totalOf,
  wholeOf,
} from './memory.ts';
export { GraphLowering, type LaunchScratch, type Temporary } from './gpu/graph-lowering.ts';
export { MemoryBudget } from './memory-budget.ts';
export { memoryShares } from './memory-shares.ts';
export { changeText, codeText, type KernelLanguage, numberText, scaleTexts } from './packing/block-text.ts';
export {
  type PackedGroups,
  packedGroups,
  type PackedQuants,
  quantPlanes,
  SCALE_BYTES,
  type ScaleKind,
} from './packing/packed-groups.ts';
export {
  checkLinkChoice,
  LINK_CHOICES,
  type LinkChoice,
  type PeerLink,
  type PeerPlace,
} from './peer-link.ts';
export type { Bindings, Executable, PackedWeight, Program, Step } from './program.ts';
export { QueuedEvent } from './queued-event.ts';
export { checkCopySizes, checkRange, type RangeUse } from './range-check.ts';
export { copyCut, cutSpan } from './row-cut.ts';
export { RowStaging } from './row-staging.ts';
export { checkRows, rowsBytes } from './rows-check.ts';
export { refuseCollective } from './refuse-collective.ts';
export { refuseHotExperts } from './refuse-hot-experts.ts';
export { type Lifespan, planLifespans, planScratch, type ScratchPlan, ScratchUses } from './scratch-plan.ts';
export type { DeviceEvent, FileRows, PinnedRows, RowCut, Stream, WeightRows } from './stream.ts';
export { WorkQueue } from './work-queue.ts';
export type { WorkerHandle, WorkerHost, WorkerPort } from './worker-host.ts';

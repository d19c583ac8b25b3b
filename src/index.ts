/** rocmforge for Node: load a GGUF model and continue texts with it. */
export { CATALOGUE, type ErrorCode, isRocmforgeError, RocmforgeError } from './base/errors.ts';
export type { Logger } from './base/log.ts';
export { MemoryBudget } from './device/index.ts';
export type { DraftModel, DraftSource } from './runtime/opening/draft-model.ts';
export type { Embedding, EmbedOptions } from './engine/embedding.ts';
export type { PositionLogits } from './runtime/forced-logits.ts';
export type { GenerationEnd } from './runtime/sequence.ts';
export type { ChatOptions, GenerateOptions } from './engine/generate-options.ts';
export { LanguageModel, type ModelOptions, type ModelSetup } from './engine/language-model.ts';
export type { RemoteModel } from './engine/remote/remote-model.ts';
export type { TextModel } from './engine/text-model.ts';
export type { RuntimeOptions } from './runtime/jobs/runtime-options.ts';
export type { PromptItem } from './runtime/prompt-items.ts';
export type { SequenceSnapshot } from './runtime/sequence-snapshot.ts';
export type { SampledToken, ScoredToken } from './runtime/jobs/sampled-token.ts';
export { type PhaseSummary, StepProfile } from './runtime/jobs/step-profile.ts';
export type { ChatChunk, ChatStream } from './engine/chat-stream.ts';
export type { TextChunk, TextEnd, TextStream } from './engine/text-stream.ts';
export {
  AsyncModelLoader,
  type LoaderOptions,
  type LoadOptions,
  type LoadReport,
} from './load/async-model-loader.ts';
export { DeviceTensor } from './load/device-tensor.ts';
export { GgufLoader, type GgufLoaderOptions } from './load/gguf-loader.ts';
export { LazyTensor, type TensorState } from './load/lazy-tensor.ts';
export type { LoadProgress } from './load/load-progress.ts';
export { LoadTrace } from './load/load-trace.ts';
export { SharedDeviceMemory, type SharedDeviceMemoryOptions } from './load/shared-device-memory.ts';
export { ALL_ARCHITECTURES } from './model/architectures/index.ts';
export type { TapHandler, TappedValue, Taps } from './plan/taps/tap.ts';
export { ExecutionPlan } from './plan/execution-plan.ts';
export { type DeviceReport, openDevice, reportDevices } from './node/devices.ts';
export { type LoadModelOptions, loadModel } from './node/load-model.ts';
export { loadModelInWorker, type WorkerModelOptions } from './node/load-model-in-worker.ts';
export type { DraftRequest } from './node/open-draft.ts';
export type {
  AnswerMessage,
  AnswerPart,
  CallOutcome,
  ChatMessage,
  ChatRole,
  ChatTool,
  IncompleteCall,
  ReasoningOptions,
} from './text/index.ts';

/** rocmforge for Node: load a GGUF model and continue texts with it. */
export { CATALOGUE, type ErrorCode, isRocmforgeError, type ParamsOf, RocmforgeError } from './base/errors.ts';
export type { LogFields, Logger } from './base/log.ts';
export { MemoryBudget } from './device/index.ts';
export type { DraftModel, DraftSource } from './runtime/opening/draft-model.ts';
export type { TokenSource } from './runtime/opening/draft-proposer.ts';
export type { LoadMode } from './runtime/opening/load-mode.ts';
export type { Embedding, EmbedOptions, TokenEmbeddings, VectorPooling } from './engine/embedding.ts';
export type {
  Classification,
  ClassifyOptions,
  RankedDocument,
  Ranking,
  RerankOptions,
} from './engine/ranking.ts';
export type { PositionLogits } from './runtime/forced-logits.ts';
export type {
  ContextShift,
  GenerateRequest,
  GenerationEnd,
  PromptProgress,
  SequenceActivity,
  TokenStream,
} from './runtime/sequence.ts';
export type { CacheActivity, EngineActivity, EngineCounters } from './engine/engine-setup.ts';
export type { InfillFile, InfillPrompt } from './engine/infill.ts';
export type { BlockEvent } from './state/held-blocks.ts';
export type {
  AnswerOptions,
  ChatOptions,
  GenerateOptions,
  PromptOptions,
} from './engine/generate-options.ts';
export type { SchedulingClass } from './scheduler/fair-shares.ts';
export { LanguageModel, type ModelOptions, type ModelSetup } from './engine/language-model.ts';
export type { RemoteModel } from './engine/remote/remote-model.ts';
export type { TextModel } from './engine/text-model.ts';
export type { RuntimeOptions } from './runtime/jobs/runtime-options.ts';
export type { PromptItem } from './runtime/prompt-items.ts';
export type { SequenceSnapshot, StateShape } from './runtime/sequence-snapshot.ts';
export { readState, writeState } from './engine/state-file.ts';
export type { SampledToken, ScoredToken } from './runtime/jobs/sampled-token.ts';
export {
  type PhaseSummary,
  type ProfileOptions,
  type StepPhase,
  StepProfile,
} from './runtime/jobs/step-profile.ts';
export {
  type ChatModel,
  ChatSession,
  type SavedSession,
  type SessionChatOptions,
  type SessionChunk,
  type SessionOptions,
  SessionStream,
  type ToolResult,
} from './engine/chat-session.ts';
export type { ChatChunk, ChatStream, ChatStreamSetup } from './engine/chat-stream.ts';
export { Tool, tool, type ToolContext, type ToolOptions } from './engine/tool.ts';
export type {
  FromJsonSchema,
  JsonMembersOf,
  JsonValueOf,
  ResultOf,
  SchemaIssue,
  SchemaResult,
  TypedSchema,
} from './engine/typed-schema.ts';
export type { ScoredId, ScoreOptions } from './engine/score.ts';
export type { CardMemory, EngineTarget } from './engine/engine-target.ts';
export type { TextChunk, TextEnd, TextStream } from './engine/text-stream.ts';
export {
  AsyncModelLoader,
  type LoaderOptions,
  type LoadOptions,
  type LoadReport,
} from './load/async-model-loader.ts';
export { DeviceTensor, type TensorShape } from './load/device-tensor.ts';
export { GgufLoader, type GgufLoaderOptions } from './load/gguf-loader.ts';
export type { LazyTensor, TensorState } from './load/lazy-tensor.ts';
export type { LoadBreakdown, LoadPhase, PhaseTime } from './load/load-clock.ts';
export type { DecodePlace } from './load/chunk.ts';
export type { LoadProgress } from './load/load-progress.ts';
export { LoadTrace, type TraceEvent, type TraceSpan } from './load/load-trace.ts';
export type { LoaderSizes } from './load/loader-sizes.ts';
export { SharedDeviceMemory, type SharedDeviceMemoryOptions } from './load/shared-device-memory.ts';
export type { Architecture } from './model/architecture.ts';
export { ALL_ARCHITECTURES } from './model/architectures/index.ts';
export type { EmbeddingPlace } from './model/embedding-place.ts';
export type { ExpertPlace } from './model/expert-place.ts';
export type { CacheType, CacheTypes } from './model/layer-states.ts';
export type { AdapterChoice } from './model/lora/adapter-set.ts';
export type {
  Block,
  BlockPredictor,
  Classifier,
  ClassifierSpec,
  EmbeddingSpec,
  DrafterSpec,
  FeaturePredictor,
  CachePredictor,
  EarlierStreams,
  MaskPredictor,
  HeadSpec,
  LayerSpec,
  ModelConfig,
  PredictorSpec,
  NamedNorm,
  Norm,
  RowsHead,
  AltUpSpec,
  HyperConnectionsSpec,
  PerLayerSpec,
  RopeTableSpec,
  Sublayer,
} from './model/model-config.ts';
export type { Pooling } from './model/pooling.ts';
export type { RopeOverrides } from './model/rope-overrides.ts';
export type { StateGroup } from './model/state-groups.ts';
export type { TapHandler, TappedValue, Taps } from './plan/taps/tap.ts';
export type { FitPlan, FitSummary, MemoryLimits, StageFit, StageSummary } from './plan/memory/fit-plan.ts';
export type { GpuLayers, ModelSource, PlanOptions } from './plan/parts/plan-options.ts';
export type { CompiledModel } from './plan/plan-to-fit.ts';
export type { BatchPlan, StepKind } from './plan/steps/batch-plan.ts';
export type { WeightPolicy } from './formats/weight-policy.ts';
export { ExecutionPlan } from './plan/execution-plan.ts';
export type { LinkChoice } from './device/index.ts';
export type { CpuKernels } from './node/cpu-kernels.ts';
export {
  type DeviceReport,
  type DeviceRequest,
  openDevice,
  type Ranks,
  reportDevices,
  type WorkerSplit,
} from './node/devices.ts';
export type { PullProgress } from './node/hub/pull.ts';
export type { WorkerEvent } from './node/served-worker.ts';
export { type WorkerDescription, WorkerServer, type WorkerServerOptions } from './node/worker-server.ts';
export type { WorkerTerms } from './node/worker-terms.ts';
export { type LoadModelOptions, loadModel } from './node/load-model.ts';
export { loadModelInWorker } from './node/load-model-in-worker.ts';
export type { WorkerModelOptions } from './node/open-engine.ts';
export type { AdapterOptions, AdapterSource } from './node/open-adapters.ts';
export type { ControlVectorOptions, ControlVectorSource } from './node/open-control-vectors.ts';
export type { DraftRequest } from './node/open-draft.ts';
export type {
  AnswerMessage,
  AnswerPart,
  CallOutcome,
  ChatMessage,
  ChatRole,
  ChatTool,
  DecodeOptions,
  EncodeOptions,
  IncompleteCall,
  ReasoningOptions,
} from './text/index.ts';

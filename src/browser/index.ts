/** rocmforge for browsers: load a GGUF model into a worker, keep it, and continue texts with it. */
export {
  CATALOGUE,
  type ErrorCode,
  isRocmforgeError,
  type ParamsOf,
  RocmforgeError,
} from '../base/errors.ts';
export type { SampledToken, ScoredToken } from '../runtime/jobs/sampled-token.ts';
export {
  type ChatModel,
  ChatSession,
  type SavedSession,
  type SessionChatOptions,
  type SessionChunk,
  type SessionOptions,
  SessionStream,
  type ToolResult,
} from '../engine/chat-session.ts';
export type { ChatChunk, ChatStream, ChatStreamSetup } from '../engine/chat-stream.ts';
export { Tool, tool, type ToolContext, type ToolOptions } from '../engine/tool.ts';
export type {
  FromJsonSchema,
  JsonMembersOf,
  JsonValueOf,
  ResultOf,
  SchemaIssue,
  SchemaResult,
  TypedSchema,
} from '../engine/typed-schema.ts';
export type { TextChunk, TextEnd, TextStream } from '../engine/text-stream.ts';
export type { LoadReport } from '../load/async-model-loader.ts';
export type { LoadProgress } from '../load/load-progress.ts';
export type {
  AnswerMessage,
  AnswerPart,
  CallOutcome,
  ChatMessage,
  ChatRole,
  ChatTool,
  IncompleteCall,
  ReasoningOptions,
} from '../text/index.ts';
export type { BrowserModel } from './browser-model.ts';
export type {
  BrowserChatOptions,
  BrowserGenerateOptions,
  BrowserLoadProgress,
  ModelDescription,
  SendableOptions,
} from './engine-calls.ts';
export { type BrowserLoadOptions, loadModel, type ModelLocation } from './load-model.ts';
export type { BrowserCpuOptions } from './open-cpu.ts';
export type { BackendName, BrowserDeviceRequest } from './open-device.ts';
export {
  type BrowserSupport,
  type CpuSupport,
  type GpuSupport,
  type StorageSupport,
  support,
  type Unsupported,
} from './support.ts';
export type { DownloadProgress } from './store/download-progress.ts';
export { ModelStore, type StorageQuota, type StoredModel } from './store/model-store.ts';

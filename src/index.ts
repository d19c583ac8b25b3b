/** rocmforge for Node: load a GGUF model and continue texts with it. */
export { CATALOGUE, type ErrorCode, isRocmforgeError, RocmforgeError } from './base/errors.ts';
export type { Logger } from './base/log.ts';
export type { PositionLogits } from './engine/forced-logits.ts';
export type { GenerationEnd } from './engine/sequence.ts';
export type { GenerateOptions } from './engine/generate-options.ts';
export { LanguageModel, type ModelOptions } from './engine/language-model.ts';
export type { SequenceSnapshot } from './engine/sequence-snapshot.ts';
export type { SampledToken, ScoredToken } from './engine/sampled-token.ts';
export type { TextChunk, TextEnd, TextStream } from './engine/text-stream.ts';
export type { LoadProgress } from './load/load-progress.ts';
export { type DeviceReport, openDevice, reportDevices } from './node/devices.ts';
export { type LoadModelOptions, loadModel } from './node/load-model.ts';
export type { ChatMessage, ChatTool } from './text/index.ts';

import type { OptionNames } from '../base/options.ts';
import type { UnsharedBytes } from '../base/web-types.ts';
import type { DeviceInfo } from '../device/index.ts';
import type { ModelOptions } from '../engine/language-model.ts';
import type { ChatOptions, GenerateOptions } from '../engine/generate-options.ts';
import { CHAT_OPTIONS, GENERATE_OPTIONS, MODEL_OPTIONS } from '../engine/option-names.ts';
import type { ChatChunk } from '../engine/chat-stream.ts';
import type { TextChunk, TextEnd } from '../engine/text-stream.ts';
import type { LoadReport } from '../load/async-model-loader.ts';
import type { LoadProgress } from '../load/load-progress.ts';
import type { FitSummary } from '../plan/memory/fit-plan.ts';
import type { ChatMessage } from '../text/index.ts';
import type { BrowserDeviceRequest } from './open-device.ts';
import type { OpenSourceOptions, SourceLocation } from './open-source.ts';
import type { DownloadProgress } from './store/download-progress.ts';

/** The progress of a model into the browser's storage and onto the device. While it downloads, both are reported. */
export type BrowserLoadProgress = DownloadProgress | LoadProgress;

/** Node's options without functions and objects with methods, which cannot be sent to a worker. */
export type SendableOptions = Omit<
  ModelOptions,
  'onProgress' | 'logger' | 'trace' | 'profile' | 'onBlocks' | 'taps'
>;

/** Node's options for generating text, except the grammar, which lives outside the worker. */
export type BrowserGenerateOptions<S = unknown> = Omit<GenerateOptions<S>, 'constraint'>;

/** Node's options for answering, except the grammar. */
export type BrowserChatOptions<S = unknown> = Omit<ChatOptions<S>, 'constraint'>;

const { constraint: _, ...TEXT_OPTIONS } = GENERATE_OPTIONS;
const { constraint: _own, ...ANSWER_OPTIONS } = CHAT_OPTIONS;
/** The names of `BrowserGenerateOptions`. */
export const BROWSER_GENERATE_OPTIONS: OptionNames<BrowserGenerateOptions> = TEXT_OPTIONS;
/** The names of `BrowserChatOptions`. */
export const BROWSER_CHAT_OPTIONS: OptionNames<BrowserChatOptions> = ANSWER_OPTIONS;

const {
  onProgress: _progress,
  logger: _logger,
  trace: _trace,
  profile: _profile,
  onBlocks: _blocks,
  taps: _taps,
  ...SENDABLE
} = MODEL_OPTIONS;
/** The names of `SendableOptions`. */
export const SENDABLE_OPTIONS: OptionNames<SendableOptions> = SENDABLE;

/** The model to open and its options, without functions and signals. */
export interface OpenRequest {
  readonly location: SourceLocation;
  readonly options: Omit<SendableOptions, 'signal'> &
    BrowserDeviceRequest &
    Pick<OpenSourceOptions, 'keep' | 'headers' | 'sha256'>;
}

/** A conversation to answer. */
export interface ChatRequest {
  readonly messages: readonly ChatMessage[];
  readonly options: Omit<BrowserChatOptions, 'signal'>;
}

/** A text or token ids to continue. */
export interface TextRequest {
  readonly prompt: string | readonly number[];
  readonly options: Omit<BrowserGenerateOptions, 'signal'>;
}

/** A request of the page to the API of its model. */
export interface ApiRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: readonly [string, string][];
  readonly body: ArrayBuffer | undefined;
}

/** The head of a response, then the pieces of its body. */
export type ResponsePart =
  { readonly status: number; readonly headers: readonly [string, string][] } | UnsharedBytes;

/** The calls that the page makes to the worker. */
export interface EngineCalls {
  readonly open: { asks: OpenRequest; value: never; answer: ModelDescription };
  /** Reports the progress of loading until it ends; called before `open`. */
  readonly progress: { asks: undefined; value: BrowserLoadProgress; answer: void };
  readonly chat: { asks: ChatRequest; value: ChatChunk; answer: TextEnd | undefined };
  readonly generate: { asks: TextRequest; value: TextChunk; answer: TextEnd | undefined };
  readonly fetch: { asks: ApiRequest; value: ResponsePart; answer: void };
  readonly loaded: { asks: undefined; value: never; answer: LoadReport };
  readonly reset: { asks: undefined; value: never; answer: void };
  readonly dispose: { asks: undefined; value: never; answer: void };
}

/** An open model, as the page knows it. */
export interface ModelDescription {
  /** The model's name in the file, or the file's own name. */
  readonly name: string;
  readonly architecture: string;
  /** Maximum positions of a sequence. */
  readonly context: number;
  /** Maximum prompt tokens per step. */
  readonly batch: number;
  /** Total size of its files in bytes. */
  readonly byteLength: number;
  readonly device: { readonly info: DeviceInfo };
  /** The use of memory, in bytes. */
  readonly fit: FitSummary;
  /**
   * The required length of tool call ids that the model does not generate itself, if its template insists on one.
   * @internal
   */
  readonly callIdLength: number | undefined;
}

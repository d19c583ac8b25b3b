import { Lifetime } from '../base/disposal.ts';
import { RocmforgeError } from '../base/errors.ts';
import { checkOptions } from '../base/options.ts';
import type { CallClient } from '../calls/index.ts';
import { type ChatChunk, ChatStream } from '../engine/chat-stream.ts';
import { type TextChunk, TextStream } from '../engine/text-stream.ts';
import { jsonSchemaOf, type ResultOf, valueBy } from '../engine/typed-schema.ts';
import type { LoadReport } from '../load/async-model-loader.ts';
import type { ChatMessage } from '../text/index.ts';
import {
  BROWSER_CHAT_OPTIONS,
  BROWSER_GENERATE_OPTIONS,
  type BrowserChatOptions,
  type BrowserGenerateOptions,
  type EngineCalls,
  type ModelDescription,
} from './engine-calls.ts';
import { remoteResponse } from './remote-response.ts';
import { remoteText } from './remote-text.ts';

/** A model that runs in its own worker, with the methods of Node's `LanguageModel`. It owns the worker. */
export class BrowserModel implements AsyncDisposable, Omit<ModelDescription, 'callIdLength'> {
  readonly name: string;
  readonly architecture: string;
  readonly context: number;
  readonly batch: number;
  readonly byteLength: number;
  readonly device: ModelDescription['device'];
  readonly fit: ModelDescription['fit'];
  readonly #callIdLength: number | undefined;
  readonly #client: CallClient<EngineCalls>;
  readonly #life = new Lifetime('the model');

  /** Created by `loadModel`. */
  constructor(client: CallClient<EngineCalls>, of: ModelDescription) {
    this.#client = client;
    this.name = of.name;
    this.architecture = of.architecture;
    this.context = of.context;
    this.batch = of.batch;
    this.byteLength = of.byteLength;
    this.device = of.device;
    this.fit = of.fit;
    this.#callIdLength = of.callIdLength;
  }

  /** Resolves with a report of what was loaded in advance; rejects if that failed. */
  get loaded(): Promise<LoadReport> {
    return this.#ask('loaded');
  }

  /**
   * Answers a conversation, rendered with the model's own template. The stream rejects where Node's throws or rejects.
   */
  chat<const S = unknown>(
    messages: readonly ChatMessage[],
    of: BrowserChatOptions<S> = {},
  ): ChatStream<ResultOf<S>> {
    this.#life.check();
    checkOptions('chat', of, BROWSER_CHAT_OPTIONS);
    const { signal, schema, ...rest } = of;
    const options = { ...rest, ...sentSchema(schema) };
    const source = remoteText<ChatChunk>((listener) =>
      this.#client.begin('chat', { messages, options }, listener, { signal }),
    );
    const read = (value: unknown) => valueBy(schema as S, value);
    return new ChatStream(source, { idLength: this.#callIdLength, read });
  }

  /** Continues a text or token ids. The stream rejects where Node's throws or rejects. */
  generate<const S = unknown>(
    prompt: string | readonly number[],
    of: BrowserGenerateOptions<S> = {},
  ): TextStream<TextChunk, ResultOf<S>> {
    this.#life.check();
    checkOptions('generate', of, BROWSER_GENERATE_OPTIONS);
    const { signal, schema, ...rest } = of;
    const options = { ...rest, ...sentSchema(schema) };
    const source = remoteText<TextChunk>((listener) =>
      this.#client.begin('generate', { prompt, options }, listener, { signal }),
    );
    return new TextStream(source, (value) => valueBy(schema as S, value));
  }

  /**
   * The server's HTTP API for this model, without a connection: for clients that accept a `fetch`, such as
   * `new OpenAI({ baseURL: 'http://localhost/v1', apiKey: 'none', dangerouslyAllowBrowser: true, fetch: model.fetch })`. Rejects with
   * `ABORTED`, `DISPOSED` and `WORKER_LOST`.
   */
  readonly fetch = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    this.#life.check();
    const request = new Request(input, init);
    const { url, method, signal } = request;
    const body = request.body === null ? undefined : await request.arrayBuffer();
    const asks = { url, method, headers: [...request.headers], body };
    return remoteResponse((listener) => this.#client.begin('fetch', asks, listener, { signal }));
  };

  /** Discards the cache of the last conversation. */
  async reset(): Promise<void> {
    await this.#ask('reset');
  }

  /** Releases everything, and terminates the worker. */
  async dispose(): Promise<void> {
    if (!this.#life.end()) return;
    const released = this.#client.call('dispose', undefined);
    await this.#client.endAfter(released, new RocmforgeError('DISPOSED', { what: 'the model' }));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  #ask<N extends 'loaded' | 'reset'>(name: N): Promise<EngineCalls[N]['answer']> {
    this.#life.check();
    return this.#client.call(name, undefined);
  }
}

/** A schema as it can be sent: a typed one has functions. */
function sentSchema(schema: unknown): { readonly schema?: unknown } {
  return schema === undefined ? {} : { schema: jsonSchemaOf(schema) };
}

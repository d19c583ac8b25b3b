import { isRocmforgeError, RocmforgeError } from '../../base/errors.ts';
import type { LogFields, Logger } from '../../base/log.ts';
import { beforeAbort } from '../../base/before-abort.ts';
import { CallClient, serveCalls } from '../../calls/index.ts';
import type { WorkerHandle, WorkerPort } from '../../device/index.ts';
import { SharedLock } from '../../runtime/shared-lock.ts';
import type { ChatMessage, ChatRenderOptions } from '../../text/index.ts';
import type { ChatOptions } from '../generate-options.ts';
import type { ModelText } from '../model-text.ts';

/** A conversation to be rendered and encoded. */
interface PromptRequest {
  readonly messages: readonly ChatMessage[];
  readonly options: ChatRenderOptions & Pick<ChatOptions, 'reasoning' | 'continueFinal'>;
}

/** A log entry for the other thread. */
interface PromptNote {
  readonly level: 'warn' | 'debug';
  readonly message: string;
  readonly fields: LogFields | undefined;
}

/**
 * The calls into a thread that encodes conversations; `O` are the options with which the platform opens the model's
 * text.
 */
interface PromptCalls<O> {
  readonly open: { asks: O; value: PromptNote; answer: void };
  readonly encode: { asks: PromptRequest; value: PromptNote; answer: Int32Array };
}

/**
 * Renders and encodes conversations on its own thread, started on first use, because rendering a template cannot be
 * interrupted and takes as long as the conversation is. Conversations are processed one after another. If one is
 * aborted while it runs, the thread is terminated, and the next one starts a new thread.
 */
export class PromptThread<O> implements AsyncDisposable {
  readonly #start: () => WorkerHandle;
  readonly #request: O;
  readonly #logger: Logger;
  readonly #lock = new SharedLock();
  #client: CallClient<PromptCalls<O>> | undefined;

  constructor(of: { start: () => WorkerHandle; request: O; logger: Logger }) {
    this.#start = of.start;
    this.#request = of.request;
    this.#logger = of.logger;
  }

  /** The ids of a conversation. Rejects as `TextModel.chatPrompt`, and with `WORKER_LOST`. */
  async encode(
    messages: PromptRequest['messages'],
    options: PromptRequest['options'],
    signal: AbortSignal | undefined,
  ): Promise<number[]> {
    const leave = await this.#lock.alone(signal);
    try {
      return Array.from(await beforeAbort(this.#encode({ messages, options }), signal, 'the prompt'));
    } catch (error) {
      if (isRocmforgeError(error, 'ABORTED') || isRocmforgeError(error, 'WORKER_LOST'))
        await this.#end(error);
      throw error;
    } finally {
      leave();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const error = new RocmforgeError('DISPOSED', { what: 'the model' });
    this.#lock.refuse(error);
    await this.#end(error);
  }

  async #encode(request: PromptRequest): Promise<Int32Array> {
    if (!this.#client) {
      this.#client = new CallClient(this.#start());
      await this.#call('open', this.#request);
    }
    return this.#call('encode', request);
  }

  #call<N extends keyof PromptCalls<O>>(
    name: N,
    asks: PromptCalls<O>[N]['asks'],
  ): Promise<PromptCalls<O>[N]['answer']> {
    const value = ({ level, message, fields }: PromptNote) => this.#logger[level](message, fields);
    return new Promise((resolve, reject) => {
      this.#client?.begin(name, asks, { value, done: resolve, failed: reject });
    });
  }

  async #end(error: Error): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    await client?.end(error);
  }
}

/** Serves calls into this thread with the text of one model, which `open` opens for a logger. */
export function servePrompts<O>(
  port: WorkerPort,
  open: (request: O, logger: Logger) => Promise<ModelText>,
): void {
  let text: Promise<ModelText> | undefined;
  let tell: (note: PromptNote) => void = () => {};
  const note = (level: PromptNote['level']) => (message: string, fields?: LogFields) => {
    tell({ level, message, fields });
  };
  const logger: Logger = {
    enabled: (level) => level !== 'trace',
    warn: note('warn'),
    info: note('debug'),
    debug: note('debug'),
    trace: () => {},
  };
  serveCalls<PromptCalls<O>>(port, {
    open: async (request, context) => {
      tell = (told) => context.tell(told);
      text = open(request, logger);
      await text;
    },
    encode: async ({ messages, options }, context) => {
      tell = (told) => context.tell(told);
      const opened = (await text) as ModelText;
      return Int32Array.from(opened.encode(messages, options));
    },
  });
}

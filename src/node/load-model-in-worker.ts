import { RocmforgeError } from '../base/errors.ts';
import { silentLogger, type Logger } from '../base/log.ts';
import { checkOptions, type OptionNames } from '../base/options.ts';
import { CallClient } from '../calls/index.ts';
import type { WorkerHandle } from '../device/index.ts';
import { ModelText } from '../engine/model-text.ts';
import type {
  EngineReport,
  EngineState,
  EngineThreadCalls,
  LogDetail,
} from '../engine/remote/engine-calls.ts';
import { PromptThread } from '../engine/remote/prompt-thread.ts';
import { RemoteModel } from '../engine/remote/remote-model.ts';
import type { GgufFile } from '../gguf/index.ts';
import { DRAFT_REQUEST, type DraftRequest } from './open-draft.ts';
import { type SharedHostMemory, sharedHostMemory } from './host-memory.ts';
import { LOAD_MODEL_OPTIONS, type LoadModelOptions, tokenizerOf } from './load-model.ts';
import { engineThread } from './engine-thread.ts';
import { locateModel } from './locate-model.ts';
import { openGguf } from './open-gguf.ts';
import { nodeWorkerHost } from './worker-host.ts';
import { packageFile } from './package-file.ts';

const PROMPT_WORKER = './prompt-worker.js';

/**
 * Options of a model on its own thread: those of `loadModel`, except for anything that shares objects with the engine.
 */
export interface WorkerModelOptions extends Omit<
  LoadModelOptions,
  'sharedMemory' | 'taps' | 'trace' | 'draft'
> {
  /** A draft model's own file; an open model would be on another thread. */
  readonly draft?: Omit<DraftRequest, 'model'> | undefined;
}

const {
  sharedMemory: _sharedMemory,
  taps: _taps,
  trace: _trace,
  ...WORKER_MODEL_OPTIONS
} = LOAD_MODEL_OPTIONS;
const OPTIONS: OptionNames<WorkerModelOptions> = WORKER_MODEL_OPTIONS;
const { model: _model, ...DRAFT_FILE } = DRAFT_REQUEST;

/** What is sent to the engine's thread. */
export interface WorkerLoad {
  readonly location: string;
  readonly options: Omit<
    WorkerModelOptions,
    'signal' | 'logger' | 'onProgress' | 'onPull' | 'profile' | 'onBlocks'
  >;
  readonly hostMemory: SharedHostMemory;
}

/** What a thread needs to open a model's text handling. */
export type PromptSource = { readonly location: string } & Pick<
  WorkerModelOptions,
  'headers' | 'chatTemplate'
>;

/**
 * Loads a model like `loadModel`, on its own thread: loading, steps and the device's driver do not delay this thread,
 * and nothing here delays them. Templates, tokenization and text run on this thread. Rejects as `loadModel`, and with
 * `WORKER_LOST`, leaving nothing open. If the thread dies, all running requests reject with `WORKER_LOST`.
 */
export async function loadModelInWorker(
  location?: string,
  options: WorkerModelOptions = {},
): Promise<RemoteModel> {
  checkOptions('loadModelInWorker', options, OPTIONS);
  checkOptions('draft', options.draft, DRAFT_FILE);
  return openInWorker(engineThread(), await locateModel(location, options), options);
}

/** Loads a model in a worker that serves an engine, which the model then owns. Rejects as `loadModelInWorker`. */
export async function openInWorker(
  worker: WorkerHandle,
  location: string,
  options: WorkerModelOptions,
): Promise<RemoteModel> {
  const { signal, logger = silentLogger, onProgress, onPull: _onPull, profile, onBlocks, ...sent } = options;
  const client = new CallClient<EngineThreadCalls<WorkerLoad>>(oneATurn(worker));
  let state: EngineState | undefined;
  const take = (report: EngineReport) => {
    if (report.kind === 'state') state = report.state;
    else if (report.kind === 'log') logger[report.level](report.message, report.fields);
    else if (report.kind === 'progress') onProgress?.(report.progress);
    else if (report.kind === 'blocks') onBlocks?.(report.events);
    else profile?.take(report.note);
  };
  client.begin('reports', undefined, { value: take, done: () => {}, failed: () => {} }, { holds: false });
  const opening = textOf(location, options);
  opening.catch(() => {});
  try {
    const request = { location, options: sent, hostMemory: sharedHostMemory() };
    const withTrace = profile?.trace !== undefined;
    const asks = { request, logs: detailOf(logger), profile: profile && { withTrace }, blocks: !!onBlocks };
    const description = await client.call('open', asks, signal);
    const { gguf, text } = await opening;
    const { headers, chatTemplate } = options;
    const prompts = new PromptThread<PromptSource>({
      start: () => nodeWorkerHost(packageFile(PROMPT_WORKER, import.meta.url), 1).start('prompts'),
      request: { location, headers, chatTemplate },
      logger,
    });
    return new RemoteModel({ client, description, gguf, text, prompts, state: () => state });
  } catch (error) {
    await client.end(new RocmforgeError('DISPOSED', { what: 'the model' }));
    await opening.then(({ gguf }) => gguf.dispose()).catch(() => {});
    throw error;
  }
}

/**
 * Node delivers all pending messages at once, together with the work that they cause. Here one message is delivered per
 * event-loop turn, so that an engine that is faster than its readers does not delay requests.
 */
function oneATurn(worker: WorkerHandle): WorkerHandle {
  const waiting: unknown[] = [];
  let take: (message: unknown) => void = () => {};
  const next = () => {
    if (waiting.length > 1) setImmediate(next);
    take(waiting.shift());
  };
  worker.onMessage((message) => {
    if (waiting.push(message) === 1) setImmediate(next);
  });
  return {
    post: (message) => worker.post(message),
    onMessage: (listener) => {
      take = listener;
    },
    onFailure: (listener) => worker.onFailure(listener),
    hold: (held) => worker.hold(held),
    terminate: () => worker.terminate(),
  };
}

function detailOf(logger: Logger): LogDetail {
  if (logger.enabled('trace')) return 'trace';
  return logger.enabled('debug') ? 'debug' : 'info';
}

/** The part of the file that text handling needs: its metadata, while the engine's thread reads the rest. */
export async function textOf(
  location: string,
  {
    headers,
    signal,
    logger,
    chatTemplate,
  }: Pick<WorkerModelOptions, 'headers' | 'signal' | 'logger' | 'chatTemplate'>,
): Promise<{ gguf: GgufFile; text: ModelText }> {
  const http = { ...(headers && { headers }) };
  const gguf = await openGguf(location, { http, ...(signal && { signal }) });
  try {
    const tokenizer = await tokenizerOf(gguf);
    return { gguf, text: new ModelText({ gguf, tokenizer }, { chatTemplate, logger }) };
  } catch (error) {
    await gguf.dispose();
    throw error;
  }
}

import { RocmforgeError } from '../base/errors.ts';
import { silentLogger, type Logger } from '../base/log.ts';
import { CallClient } from '../calls/index.ts';
import type { WorkerHandle } from '../device/index.ts';
import type {
  EngineReport,
  EngineState,
  EngineThreadCalls,
  LogDetail,
} from '../engine/remote/engine-calls.ts';
import { ThreadEngine } from '../engine/remote/thread-engine.ts';
import { type SharedHostMemory, sharedHostMemory } from './host-memory.ts';
import type { LoadModelOptions } from './load-model.ts';
import type { DraftRequest } from './open-draft.ts';

/**
 * Options of a model on its own thread: those of `loadModel`, except for anything that shares objects with the engine.
 */
export interface WorkerModelOptions extends Omit<
  LoadModelOptions,
  'sharedMemory' | 'taps' | 'trace' | 'draft'
> {
  /** A draft model's own file; an open model would be on another thread. */
  readonly draft?: Omit<DraftRequest, 'model'> | undefined;
  /**
   * Engines with this model that share its texts, each on a thread and a device of its own: GPUs with consecutive indices from that of
   * `device`, or the CPU, whose threads they share. Default 1.
   */
  readonly replicas?: number | undefined;
}

/** What is sent to the engine's thread. */
export interface WorkerLoad {
  readonly location: string;
  readonly options: Omit<
    WorkerModelOptions,
    'signal' | 'logger' | 'onProgress' | 'onPull' | 'profile' | 'onBlocks' | 'replicas'
  >;
  readonly hostMemory: SharedHostMemory;
}

/** Opens an engine in a worker, which it then owns. Rejects as `loadModelInWorker`, having ended the worker. */
export async function openEngine(
  worker: WorkerHandle,
  location: string,
  options: WorkerModelOptions,
): Promise<ThreadEngine> {
  const { signal, logger = silentLogger, onProgress, profile, onBlocks } = options;
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
  try {
    const request = { location, options: sentOptions(options), hostMemory: sharedHostMemory() };
    const withTrace = profile?.trace !== undefined;
    const asks = { request, logs: detailOf(logger), profile: profile && { withTrace }, blocks: !!onBlocks };
    const description = await client.call('open', asks, signal);
    return new ThreadEngine({ client, description, state: () => state });
  } catch (error) {
    await client.end(new RocmforgeError('DISPOSED', { what: 'the model' }));
    throw error;
  }
}

/** The options that are sent to another thread. */
export function sentOptions(options: WorkerModelOptions): WorkerLoad['options'] {
  const {
    signal: _s,
    logger: _l,
    onProgress: _p,
    onPull: _q,
    profile: _t,
    onBlocks: _b,
    ...others
  } = options;
  const { replicas: _r, ...sent } = others;
  return sent;
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

import { RocmforgeError } from '../base/errors.ts';
import { CallClient } from '../calls/index.ts';
import type { ModelDetails } from '../server/model-details.ts';
import { sharedHostMemory } from './host-memory.ts';
import type { WorkerLoad, WorkerModelOptions } from './load-model-in-worker.ts';
import { nodeWorkerHost } from './worker-host.ts';

const WORKER = new URL('./facts-worker.js', import.meta.url);

/** The calls into the thread. */
export interface FactsCalls {
  readonly memory: { asks: WorkerLoad; value: never; answer: number };
  readonly details: {
    asks: { readonly location: string } & Pick<WorkerModelOptions, 'headers'>;
    value: never;
    answer: ModelDetails;
  };
  readonly digest: { asks: readonly string[]; value: never; answer: string };
}

/** The thread while it is needed, and how many calls it is carrying out. */
let thread: { readonly client: CallClient<FactsCalls>; calls: number } | undefined;

/** The memory that a model would take, in bytes, planned on another thread. Rejects as `LanguageModel.fit`. */
export function modelMemory(
  location: string,
  options: WorkerModelOptions,
  signal: AbortSignal,
): Promise<number> {
  const { signal: _signal, logger: _logger, onProgress: _onProgress, profile: _profile, ...sent } = options;
  return call('memory', { location, options: sent, hostMemory: sharedHostMemory() }, signal);
}

/** What a model's file says of it, read on another thread. Rejects as `openGguf`. */
export function modelDetails(
  location: string,
  { headers }: Pick<WorkerModelOptions, 'headers'>,
): Promise<ModelDetails> {
  return call('details', { location, headers });
}

/** The SHA-256 of files one after another, in hexadecimal, computed on another thread. Rejects with errors of reading. */
export function fileDigest(paths: readonly string[]): Promise<string> {
  return call('digest', paths);
}

async function call<N extends keyof FactsCalls>(
  name: N,
  asks: FactsCalls[N]['asks'],
  signal?: AbortSignal,
): Promise<FactsCalls[N]['answer']> {
  const used = (thread ??= {
    client: new CallClient<FactsCalls>(nodeWorkerHost(WORKER, 1).start('facts')),
    calls: 0,
  });
  used.calls++;
  try {
    return await used.client.call(name, asks, signal);
  } finally {
    if (--used.calls === 0) {
      if (thread === used) thread = undefined;
      await used.client.end(new RocmforgeError('DISPOSED', { what: 'the thread' }));
    }
  }
}

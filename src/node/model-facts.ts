import { fail, RocmforgeError } from '../base/errors.ts';
import { CallClient } from '../calls/index.ts';
import type { ModelDetails } from '../server/model-details.ts';
import { sharedHostMemory } from './host-memory.ts';
import { sentOptions, type WorkerLoad, type WorkerModelOptions } from './open-engine.ts';
import { nodeWorkerHost } from './worker-host.ts';
import { packageFile } from './package-file.ts';

const WORKER = '../bin/facts-worker.js';

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

/** Settles when earlier digests are there: one file at a time is read. */
let digesting: Promise<void> = Promise.resolve();

/**
 * The memory that a model would take, in bytes, planned on another thread. Rejects as `LanguageModel.fit`, and with `INVALID_ARGUMENT` for
 * one that is on other machines, too.
 */
export async function modelMemory(
  location: string,
  options: WorkerModelOptions,
  signal: AbortSignal,
): Promise<number> {
  if (options.workers !== undefined) {
    const expected =
      'models of this process alone, or a number of models (maxModels) instead of their memory';
    fail('INVALID_ARGUMENT', { name: 'workers', found: options.workers.join(','), expected });
  }
  return call('memory', { location, options: sentOptions(options), hostMemory: sharedHostMemory() }, signal);
}

/** What a model's file says of it, read on another thread. Rejects as `openGguf`. */
export function modelDetails(
  location: string,
  { headers }: Pick<WorkerModelOptions, 'headers'>,
): Promise<ModelDetails> {
  return call('details', { location, headers });
}

/** The SHA-256 of files one after another, in hexadecimal, computed on another thread. Rejects with errors of reading. */
export async function fileDigest(paths: readonly string[]): Promise<string> {
  const digest = digesting.then(() => call('digest', paths));
  digesting = digest.then(
    () => {},
    () => {},
  );
  return digest;
}

async function call<N extends keyof FactsCalls>(
  name: N,
  asks: FactsCalls[N]['asks'],
  signal?: AbortSignal,
): Promise<FactsCalls[N]['answer']> {
  const used = (thread ??= {
    client: new CallClient<FactsCalls>(
      nodeWorkerHost(packageFile(WORKER, import.meta.url), 1).start('facts'),
    ),
    calls: 0,
  });
  used.calls++;
  try {
    // Nobody waits for a digest, and it may take minutes.
    const holds = name !== 'digest';
    return await new Promise<FactsCalls[N]['answer']>((resolve, reject) => {
      used.client.begin(name, asks, { value: () => {}, done: resolve, failed: reject }, { signal, holds });
    });
  } finally {
    if (--used.calls === 0) {
      if (thread === used) thread = undefined;
      await used.client.end(new RocmforgeError('DISPOSED', { what: 'the thread' }));
    }
  }
}

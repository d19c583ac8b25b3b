import { fail } from '../base/errors.ts';
import { silentLogger } from '../base/log.ts';
import { checkOptions, type OptionNames } from '../base/options.ts';
import type { WorkerHandle } from '../device/index.ts';
import { ModelText } from '../engine/model-text.ts';
import { PromptThread } from '../engine/remote/prompt-thread.ts';
import type { RemoteEngine } from '../engine/remote/remote-engine.ts';
import { RemoteModel } from '../engine/remote/remote-model.ts';
import type { GgufFile } from '../gguf/index.ts';
import { engineThread } from './engine-thread.ts';
import { LOAD_MODEL_OPTIONS, tokenizerOf } from './load-model.ts';
import { locateModel } from './locate-model.ts';
import { DRAFT_REQUEST } from './open-draft.ts';
import { openEngine, type WorkerModelOptions } from './open-engine.ts';
import { openGguf } from './open-gguf.ts';
import { packageFile } from './package-file.ts';
import { repositorySampling } from './repository-sampling.ts';
import { nodeWorkerHost } from './worker-host.ts';

const PROMPT_WORKER = '../bin/prompt-worker.js';

const {
  sharedMemory: _sharedMemory,
  taps: _taps,
  trace: _trace,
  ...WORKER_MODEL_OPTIONS
} = LOAD_MODEL_OPTIONS;
const OPTIONS: OptionNames<WorkerModelOptions> = { ...WORKER_MODEL_OPTIONS, replicas: true };
const { model: _model, ...DRAFT_FILE } = DRAFT_REQUEST;

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
  const { replicas = 1 } = options;
  if (replicas === 1) return openInWorker(engineThread(), await locateModel(location, options), options);
  const tensorParallel = ranksOfReplicas(replicas, options);
  const path = await locateModel(location, options);
  const { openReplicas } = await import('./open-replicas.ts');
  return modelWith(openReplicas(path, { ...options, replicas, tensorParallel }), path, options);
}

/** Loads a model in a worker that serves an engine, which the model then owns. Rejects as `loadModelInWorker`. */
export function openInWorker(
  worker: WorkerHandle,
  location: string,
  options: WorkerModelOptions,
): Promise<RemoteModel> {
  return modelWith(openEngine(worker, location, options), location, options);
}

/** A model with an engine that is being opened, which it then owns, as its file does; without a model, nothing is left open. */
export async function modelWith(
  opening: Promise<RemoteEngine>,
  location: string,
  options: WorkerModelOptions,
): Promise<RemoteModel> {
  const reading = textOf(location, options);
  reading.catch(() => {});
  try {
    const engine = await opening;
    const { gguf, text } = await reading;
    const { headers, chatTemplate, logger = silentLogger } = options;
    const prompts = new PromptThread<PromptSource>({
      start: () => nodeWorkerHost(packageFile(PROMPT_WORKER, import.meta.url), 1).start('prompts'),
      request: { location, headers, chatTemplate },
      logger,
    });
    return new RemoteModel({ engine, gguf, text, prompts });
  } catch (error) {
    await opening.then((engine) => engine.dispose()).catch(() => {});
    await reading.then(({ gguf }) => gguf.dispose()).catch(() => {});
    throw error;
  }
}

/**
 * The number of devices of each replica. Throws `INVALID_ARGUMENT` for a number of replicas that is none, and for what is told of one
 * engine alone.
 */
function ranksOfReplicas(
  replicas: number,
  { onBlocks, profile, tensorParallel = 1 }: WorkerModelOptions,
): number {
  if (!(Number.isInteger(replicas) && replicas > 0)) {
    fail('INVALID_ARGUMENT', { name: 'replicas', found: String(replicas), expected: 'an integer from 1' });
  }
  for (const [name, value] of Object.entries({ onBlocks, profile })) {
    if (!value) continue;
    fail('INVALID_ARGUMENT', {
      name,
      found: `${replicas} replicas`,
      expected: 'one engine, of which it tells',
    });
  }
  if (typeof tensorParallel === 'number') return tensorParallel;
  const expected = 'a number of devices for each replica';
  return fail('INVALID_ARGUMENT', { name: 'tensorParallel', found: String(tensorParallel), expected });
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
    const sampling = await repositorySampling(location, logger);
    return { gguf, text: new ModelText({ gguf, tokenizer, sampling }, { chatTemplate, logger }) };
  } catch (error) {
    await gguf.dispose();
    throw error;
  }
}

import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { Argument, Option } from 'commander';
import { fail } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { timerSpan } from '../../base/timer-span.ts';
import type { KvEventOptions } from '../../node/kv-event-publisher.ts';
import type { FolderBlobs } from '../../node/serve.ts';
import type { ModelServer, ServerOptions } from '../../server/index.ts';
import type { CliCommand, CommandCall, CommandContext } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { bundledModel } from '../../node/bundled-model.ts';
import { PACKAGE_ROOT, packageVersion } from '../../node/package-root.ts';
import { limitYoungGeneration } from '../../node/young-generation.ts';
import { loadOptionsOf, noteBundledModel } from '../load.ts';
import {
  byteSize,
  type DeviceFlags,
  deviceOptions,
  draftOptions,
  type ModelFlags,
  modelOptions,
  profileOption,
  repeated,
  wholeNumber,
} from '../options.ts';
import { locatedModel } from '../pull-model.ts';
import { profileOf, reportProfile } from '../profile.ts';
import {
  answersOf,
  isOpenToAll,
  isTraced,
  kvEventsOf,
  listenOptionsOf,
  paceOf,
  type ServerFlags,
  serverLimitsOf,
  serverOptions,
} from '../server-options.ts';
import {
  type ServedAdapterFlags,
  servedAdapterOptions,
  servedAdaptersOf,
} from '../served-adapter-options.ts';
import { checkNames, renamed, type ServedNameFlags, servedNameOptions } from '../served-names.ts';
import { type SamplingChoiceFlags, samplingDefaultOptions } from '../sampling-options.ts';
import { chatTemplateOf, type TemplateFlags, templateOptions } from '../template-options.ts';

interface ServeFlags
  extends
    Omit<ModelFlags, 'model'>,
    DeviceFlags,
    TemplateFlags,
    ServerFlags,
    ServedAdapterFlags,
    ServedNameFlags,
    SamplingChoiceFlags {
  readonly model?: readonly string[];
  readonly models?: string;
  readonly manageModels?: boolean;
  readonly maxModels?: number;
  readonly modelsMemory?: number;
  readonly anyModel?: boolean;
  readonly parallel: number;
  readonly cachePositions?: number;
  readonly replicas: number;
}

/** `rocmforge serve`: an HTTP server with OpenAI's and Anthropic's APIs. */
export const serveCommand: CliCommand<ServeFlags> = {
  arguments: [new Argument('[model]', 'the model, as with -m')],
  options: [...whatOptions(), ...serverOptions(), ...samplingDefaultOptions(), ...deviceOptions()],
  examples: [
    ['serve', 'the bundled model on http://127.0.0.1:8080/v1'],
    ['serve -m model.gguf --parallel 8 -c 8192 --port 9000', 'eight concurrent sequences, a longer context'],
    ['serve hf:unsloth/Qwen3-0.6B-GGUF', 'a model of the hub, pulled if it is not here'],
    [
      'serve -m model.gguf --device cuda --replicas 4',
      'the model on four GPUs, four engines that share its requests',
    ],
    ['serve --models ./models --max-models 2', 'every model of a folder, loaded on demand'],
    ['serve --temperature 0.7 --top-p 0.8 --seed 1', 'how requests are sampled that say nothing else'],
    ['serve -m small=a.gguf -m large=b.gguf --max-models 2', 'two models under names of your choice'],
    [
      'serve --host 0.0.0.0 --api-key "$KEY" --cors https://example.com',
      'for other machines, with an API key',
    ],
  ],
  run: ({ args, flags }, context) => serve({ ...flags, ...modelsIn(args[0], flags) }, context),
};

/** The models of the command line; the one without an option is the first. Throws `INVALID_ARGUMENT` beside a folder. */
function modelsIn(
  argument: CommandCall<ServeFlags>['args'][number],
  { model = [], models }: ServeFlags,
): Pick<ServeFlags, 'model'> {
  if (typeof argument !== 'string') return {};
  if (models === undefined) return { model: [argument, ...model] };
  return fail('INVALID_ARGUMENT', {
    name: '[model]',
    found: `${argument} and --models`,
    expected: 'one of both',
  });
}

function whatOptions(): Option[] {
  const shared = modelOptions().filter(({ long }) => long !== '--model');
  const own = [
    new Option(
      '-m, --model <location>',
      'GGUF file, address, or name such as hf:user/repo, or NAME=LOCATION; repeatable (default: the bundled model)',
    ).argParser(repeated),
    ...servedNameOptions(),
    new Option('--models <folder>', 'serve every GGUF file of a folder').conflicts('model'),
    new Option('--manage-models', 'requests may copy and delete the files of --models (default: refused)'),
    new Option('--max-models <count>', 'models loaded at the same time (default: 1)').argParser(
      wholeNumber(1),
    ),
    new Option(
      '--models-memory <size>',
      'memory of all loaded models, of each GPU if there are several, such as 20GiB, instead of --max-models; also a limit for each (--memory)',
    )
      .argParser(byteSize)
      .conflicts(['maxModels', 'memory', 'workers']),
    ...servedAdapterOptions(),
    new Option('--no-autoload', 'load models by POST /models/load only, not for the requests that name them'),
    new Option(
      '--any-model',
      'requests that name an unknown model get the first (default: they are refused)',
    ),
    new Option('-p, --parallel <count>', 'sequences that a model generates at once')
      .argParser(wholeNumber(1))
      .default(4),
    new Option(
      '--replicas <count>',
      'engines with the same model, each on a GPU of its own; a text goes where its beginning is cached, or to the least busy',
    )
      .argParser(wholeNumber(1))
      .default(1)
      .conflicts(['modelsMemory', 'kvEvents', 'profile', 'workers']),
    new Option(
      '--cache-positions <count>',
      'positions of the KV cache, shared by all sequences (default: a full context for each)',
    ).argParser(wholeNumber(1)),
  ];
  return [...own, ...shared, ...templateOptions(), ...draftOptions(), profileOption()].map((option) =>
    option.helpGroup('Model:'),
  );
}

async function serve(flags: ServeFlags, context: CommandContext): Promise<ExitCode> {
  preferSmallHeaps(true);
  limitYoungGeneration();
  const { startEngineThreadAhead } = await import('../../node/engine-thread.ts');
  startEngineThreadAhead();
  // Loaded here, so that other commands start without the server's libraries.
  const { ModelServer, OtlpTracing, PrometheusMetrics, createLogger, modelFilesIn, servedModels, pageFiles } =
    await import('../../node/serve.ts');
  const { parallel: sequences, replicas, cachePositions, model: _model, modelsMemory, ...shared } = flags;
  const isOfSeveral = modelsMemory !== undefined || (flags.maxModels ?? 1) > 1;
  const profile = profileOf(flags);
  const chatTemplate = await chatTemplateOf(flags);
  const runtime = paceOf(flags);
  const opened = {
    // Memory to spare is other models'.
    ...loadOptionsOf({ ...(isOfSeveral && { dequantized: false }), ...shared, sequences }),
    ...servedAdaptersOf(flags),
    ...(modelsMemory !== undefined && { memory: modelsMemory }),
    cachePositions,
    replicas,
    chatTemplate,
    profile,
    runtime,
  };
  const locations = await locatedModels(flags, context);
  const lora = flags.lora ?? flags.loraModules ?? flags.loraFolder;
  checkLocations(locations, { lora, chatTemplate });
  const published = kvEventsOf(flags, locations.length);
  const { quiet, log = 'info', logJson = false } = context.flags;
  const logger = createLogger({ level: quiet ? 'warn' : log, json: logJson });
  await using publisher = published && (await publisherOf(published, logger));
  const how = { ...opened, logger, onBlocks: publisher?.publish };
  const models = renamed(await servedModels(locations, how), flags);
  checkNames(models, flags);
  const { models: folder, maxModels = 1, otlpEndpoint: endpoint } = flags;
  const discover = async () => renamed(await servedModels(await modelFilesIn(folder ?? ''), how), flags);
  const version = packageVersion();
  await using tracing = isTraced(flags) ? await OtlpTracing.open({ endpoint, version, logger }) : undefined;
  const folders = await foldersOf(flags);
  await using _store = folders.store;
  await using server = new ModelServer({
    models,
    ...(folder !== undefined && { discover }),
    ...(modelsMemory === undefined ? { maxModels } : { modelsMemory }),
    parallel: sequences * replicas * (modelsMemory === undefined ? maxModels : models.length),
    anyModel: flags.anyModel ?? false,
    ...serverLimitsOf(flags),
    keys: await keysOf(flags),
    ...folders,
    metrics: new PrometheusMetrics(),
    page: flags.page ? pageFiles(packageFolder('dist/web'), packageFolder('models')) : undefined,
    ...answersOf(flags),
    logger,
    tracing,
    version,
  });
  await answerUntilStopped(server, flags, { logger, context });
  await reportProfile(profile, flags, context.output);
  return EXIT.ok;
}

/**
 * Lets V8 prefer small heaps to fast growth in all threads of the process, while models are loaded: a server runs for weeks, and
 * garbage of loading would stay in every thread. Not longer: V8 would collect all of a heap several times in a row while
 * requests run, and every stream waits for that. V8 reads the flag whenever it sizes a heap, so that it holds for heaps that exist, too.
 */
function preferSmallHeaps(preferred: boolean): void {
  setFlagsFromString(preferred ? '--optimize-for-size' : '--no-optimize-for-size');
}

/** The keys that requests may use; none if they need none. Rejects as `keysInFile`. */
async function keysOf({ apiKey = [], apiKeyFile }: ServeFlags): Promise<NonNullable<ServerOptions['keys']>> {
  const { keysInFile } = await import('../../node/serve.ts');
  return apiKeyFile === undefined ? apiKey : [...apiKey, ...(await keysInFile(apiKeyFile))];
}

/** Publishes changes of the prompt cache. Rejects as `KvEventPublisher.open`. */
async function publisherOf(options: KvEventOptions, logger: Logger) {
  const { KvEventPublisher } = await import('../../node/serve.ts');
  const publisher = await KvEventPublisher.open(options);
  const { endpoints } = publisher;
  logger.info('publishing KV events', { endpoints });
  if (!endpoints.every((endpoint) => /^tcp:\/\/(?:127\.|\[::1\])/.test(endpoint)))
    logger.warn('anyone who can reach the address of KV events can read the tokens of prompts', {
      endpoints,
    });
  return publisher;
}

/** The files and addresses of all models; those by name are pulled before anything is served. */
async function locatedModels(flags: ServeFlags, context: CommandContext): Promise<string[]> {
  const { modelFilesIn, namedLocation } = await import('../../node/serve.ts');
  if (flags.models) return modelFilesIn(flags.models);
  if (!flags.model) noteBundledModel(context.output);
  const located: string[] = [];
  for (const text of flags.model ?? [bundledModel()]) {
    const [name, location] = namedLocation(text);
    const path = await locatedModel(location, flags, context);
    located.push(name === undefined ? path : `${name}=${path}`);
  }
  return located;
}

/** The folders that requests read and write. Rejects if there is no such folder. */
async function foldersOf({
  models,
  manageModels = false,
  loraFolder,
  slotSavePath,
  storeDir,
}: ServeFlags): Promise<
  Pick<ServerOptions, 'adapterFiles' | 'files' | 'states'> & { readonly store: FolderBlobs | undefined }
> {
  const { AdapterFolder, FolderBlobs, ModelFolder, StateFolder } = await import('../../node/serve.ts');
  return {
    adapterFiles: loraFolder === undefined ? undefined : await AdapterFolder.open(loraFolder),
    files: models !== undefined && manageModels ? new ModelFolder(models) : undefined,
    states: slotSavePath === undefined ? undefined : await StateFolder.open(slotSavePath),
    store: storeDir === undefined ? undefined : await FolderBlobs.open(storeDir),
  };
}

/** Listens until the command is stopped, then lets running requests finish. */
async function answerUntilStopped(
  server: ModelServer,
  flags: ServeFlags,
  { logger, context: { output, signal } }: { logger: Logger; context: CommandContext },
): Promise<void> {
  const { HttpListener } = await import('../../node/serve.ts');
  await using listener = await HttpListener.open(server.fetch, await listenOptionsOf(flags));
  if (isOpenToAll(flags)) logger.warn('anyone who can reach this address can use the server: set --api-key');
  for (const url of listener.urls) {
    logger.info('listening', { url });
    await output.line(`listening at ${url}`);
  }
  await Promise.race([server.loaded, aborted(signal)]);
  preferSmallHeaps(false);
  await aborted(signal);
  logger.info('draining');
  const drained = Promise.all([server.drain(), listener.drain()]);
  await Promise.race([drained, passed(flags.drainSeconds)]);
}

/** Throws `INVALID_ARGUMENT` if there is no model, or several with options that are for a single one. */
function checkLocations(
  locations: readonly string[],
  { lora, chatTemplate }: { lora: unknown; chatTemplate: unknown },
): void {
  if (locations.length === 0) {
    fail('INVALID_ARGUMENT', { name: '--models', found: 'a folder without one', expected: 'GGUF files' });
  }
  const found = `${locations.length} models`;
  if (lora !== undefined && locations.length > 1) {
    fail('INVALID_ARGUMENT', { name: '--lora', found, expected: 'the one model that the adapters are for' });
  }
  if (chatTemplate !== undefined && locations.length > 1) {
    fail('INVALID_ARGUMENT', { name: '--chat-template', found, expected: 'the one model that it is for' });
  }
}

/** Resolves after the seconds; never without a limit. Does not keep the process alive. */
function passed(seconds = Number.POSITIVE_INFINITY): Promise<void> {
  return new Promise((resolve) => {
    if (seconds !== Number.POSITIVE_INFINITY) setTimeout(resolve, timerSpan(seconds)).unref();
  });
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** A folder of this package. */
function packageFolder(name: string): string {
  return fileURLToPath(new URL(name, PACKAGE_ROOT));
}

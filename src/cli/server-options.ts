import { readFile } from 'node:fs/promises';
import { Option } from 'commander';
import { fail } from '../base/errors.ts';
import type { ListenOptions } from '../node/http-listener.ts';
import type { KvEventEncoding } from '../node/block-event-batch.ts';
import type { KvEventOptions } from '../node/kv-event-publisher.ts';
import type { ServerOptions } from '../server/index.ts';
import { realNumber, repeated, wholeNumber } from './options.ts';
import { type SamplingChoiceFlags, samplingChoice } from './sampling-options.ts';

/** Options of the server besides its models. */
export interface ServerFlags {
  readonly host?: readonly string[];
  readonly port?: number;
  readonly unixSocket?: string;
  readonly allowedHosts?: readonly string[];
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly keepAlive?: number;
  readonly drainSeconds?: number;
  readonly queue?: number;
  readonly maxTokens?: number;
  readonly defaultMaxTokens?: number;
  readonly contextShift?: number;
  readonly prefillAssistant?: boolean;
  readonly verboseAnswers?: boolean;
  readonly autoload: boolean;
  readonly reasoning?: 'on' | 'off';
  readonly tokenTarget?: number;
  readonly promptTarget: number;
  readonly apiKey?: readonly string[];
  readonly apiKeyFile?: string;
  readonly cors?: readonly string[];
  readonly page: boolean;
  readonly slots: boolean;
  readonly metrics: boolean;
  readonly otlpEndpoint?: string;
  readonly kvEvents?: string;
  readonly kvEventsReplay?: string;
  readonly kvEventsTopic?: string;
  readonly kvEventsBuffer?: number;
  readonly kvEventsEncoding?: KvEventEncoding;
  readonly sleepIdleSeconds?: number;
  readonly slotSavePath?: string;
  readonly storeDir?: string;
  readonly systemPrompt?: string;
  readonly storeItems?: number;
  readonly storeBytes?: number;
  readonly maxBody?: number;
  readonly timeLimit?: number;
}

/** Target for the milliseconds of a step that only processes prompts. */
const PROMPT_TARGET_MS = 250;

/** Where `serve` listens, who may use it, and the limits of requests. */
export function serverOptions(): Option[] {
  return [...whereOptions(), ...answerOptions(), ...limitOptions()];
}

/** The flags that are passed to the server itself; `serve` reads the keys. */
export function serverLimitsOf(
  flags: ServerFlags & SamplingChoiceFlags,
): Pick<
  ServerOptions,
  | 'sampling'
  | 'systemPrompt'
  | 'queue'
  | 'maxTokens'
  | 'maxBody'
  | 'timeLimit'
  | 'origins'
  | 'sleepIdleSeconds'
  | 'storeItems'
  | 'storeBytes'
> {
  const { queue, maxTokens, maxBody, timeLimit, cors: origins, sleepIdleSeconds } = flags;
  const { storeItems, storeBytes } = flags;
  const { systemPrompt } = flags;
  const limits = { queue, maxTokens, maxBody, timeLimit, storeItems, storeBytes, systemPrompt };
  const given = Object.entries({ ...limits, origins, sleepIdleSeconds });
  return {
    ...Object.fromEntries(given.filter(([, value]) => value !== undefined)),
    sampling: samplingChoice(flags),
  };
}

/** The time targets of steps with prompts. */
export function paceOf({ tokenTarget, promptTarget }: ServerFlags): {
  tokenMs: number | 'auto' | undefined;
  promptMs: number | undefined;
} {
  return {
    tokenMs: tokenTarget === 0 ? undefined : (tokenTarget ?? 'auto'),
    promptMs: promptTarget > 0 ? promptTarget : undefined,
  };
}

/**
 * The listening options. Rejects with `INVALID_ARGUMENT` for a certificate without a key, or files that cannot be read.
 */
export async function listenOptionsOf(flags: ServerFlags): Promise<ListenOptions> {
  const { host, port, unixSocket, allowedHosts, keepAlive: keepAliveSeconds, tlsCert, tlsKey } = flags;
  const where = { host, port, unixSocket, allowedHosts, keepAliveSeconds };
  if (tlsCert === undefined && tlsKey === undefined) return where;
  const [cert, key] = await Promise.all([pem('--tls-cert', tlsCert), pem('--tls-key', tlsKey)]);
  return { ...where, tls: { cert, key } };
}

async function pem(name: string, path: string | undefined): Promise<string> {
  const expected = 'a file in PEM, beside that of the other';
  if (path === undefined) return fail('INVALID_ARGUMENT', { name, found: 'none', expected });
  return readFile(path, 'utf8').catch((error: unknown) =>
    fail('INVALID_ARGUMENT', { name, found: path, expected }, error),
  );
}

/** Whether other machines can use the server without a key. */
export function isOpenToAll({ host, unixSocket, apiKey = [], apiKeyFile }: ServerFlags): boolean {
  if (unixSocket !== undefined || apiKey.length > 0 || apiKeyFile !== undefined) return false;
  return host?.some((address) => !/^(?:127\.[\d.]+|::1|localhost)$/i.test(address)) ?? false;
}

/** What the server answers: the endpoints that answer nobody, and what applies where a request does not say. */
export function answersOf({
  slots,
  metrics,
  reasoning,
  contextShift: keep,
  ...flags
}: ServerFlags): Pick<
  ServerOptions,
  'disabled' | 'reasoning' | 'defaultMaxTokens' | 'shift' | 'prefillAssistant' | 'verboseAnswers' | 'autoload'
> {
  const { defaultMaxTokens, prefillAssistant, verboseAnswers, autoload } = flags;
  return {
    disabled: [...(slots ? [] : ['slots' as const]), ...(metrics ? [] : ['metrics' as const])],
    reasoning: reasoning === undefined ? undefined : reasoning === 'on',
    shift: keep === undefined ? undefined : { keep },
    defaultMaxTokens,
    prefillAssistant,
    verboseAnswers,
    autoload,
  };
}

/** Whether spans are exported, which OpenTelemetry's environment variables can also enable. */
export function isTraced({ otlpEndpoint }: ServerFlags): boolean {
  const { OTEL_SDK_DISABLED, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT } = process.env;
  if (OTEL_SDK_DISABLED?.toLowerCase() === 'true') return false;
  return Boolean(otlpEndpoint ?? OTEL_EXPORTER_OTLP_TRACES_ENDPOINT);
}

/**
 * How changes of the prompt cache are published; undefined if they are not. Throws `INVALID_ARGUMENT` for options without
 * an endpoint, or several models.
 */
export function kvEventsOf(flags: ServerFlags, models: number): KvEventOptions | undefined {
  const { kvEvents: endpoint, kvEventsReplay, kvEventsTopic: topic, kvEventsBuffer: bufferSteps } = flags;
  const { kvEventsEncoding: encoding } = flags;
  const name = '--kv-events';
  if (endpoint === undefined) {
    if ((kvEventsReplay ?? topic ?? bufferSteps ?? encoding) === undefined) return undefined;
    fail('INVALID_ARGUMENT', {
      name,
      found: 'none',
      expected: 'the endpoint that its other options are for',
    });
  }
  if (models > 1) {
    fail('INVALID_ARGUMENT', {
      name,
      found: `${models} models`,
      expected: 'the one model whose cache it is',
    });
  }
  return { endpoint, replayEndpoint: kvEventsReplay, topic, bufferSteps, encoding };
}

function whereOptions(): Option[] {
  return [
    new Option(
      '--host <addresses>',
      'address to listen on, or several, separated by commas (default: 127.0.0.1, this machine only)',
    ).argParser((text) => text.split(',').map((address) => address.trim())),
    new Option('--port <number>', 'port to listen on; 0 picks a free one (default: 8080)').argParser(
      wholeNumber(0, 65535),
    ),
    new Option('--unix-socket <path>', 'listen on a Unix socket instead of host and port').conflicts([
      'host',
      'port',
    ]),
    new Option(
      '--allowed-hosts <name>',
      'a host name that requests may use, .example.com for all subdomains, * for any; repeatable',
    ).argParser(repeated),
    new Option('--tls-cert <path>', 'serve HTTPS with this certificate (PEM)'),
    new Option('--tls-key <path>', 'the private key of the certificate (PEM)'),
    new Option(
      '--api-key <key>',
      'require an API key; repeatable; other users cannot see it in ROCMFORGE_API_KEY',
    ).argParser(repeated),
    new Option('--api-key-file <path>', 'API keys with their limits, one per line'),
    new Option('--no-page', 'serve no page'),
    new Option('--no-slots', 'do not tell about the slots (GET /slots)'),
    new Option('--no-metrics', 'do not tell metrics (GET /metrics)'),
    new Option('--otlp-endpoint <url>', 'send traces to this OpenTelemetry collector, OTLP over HTTP').env(
      'OTEL_EXPORTER_OTLP_ENDPOINT',
    ),
    new Option(
      '--kv-events <endpoint>',
      'publish which prefixes the cache holds, as vLLM does: tcp://*:5557, a ZeroMQ PUB socket',
    ),
    new Option(
      '--kv-events-replay <endpoint>',
      'send missed events again: tcp://*:5558, a ZeroMQ ROUTER socket',
    ),
    new Option('--kv-events-topic <text>', 'the topic of the events (default: empty)'),
    new Option(
      '--kv-events-buffer <count>',
      'batches of events that can be sent again (default: 10000)',
    ).argParser(wholeNumber(1)),
    new Option(
      '--kv-events-encoding <form>',
      'events as arrays, or as maps as vLLM writes them since June 2026 (default: array)',
    ).choices(['array', 'map'] satisfies KvEventEncoding[]),
    new Option(
      '--store-dir <folder>',
      'keep responses, conversations, files and batches in this folder (default: in memory, until the end)',
    ),
    new Option(
      '--cors <origin>',
      'allow pages of this origin to use the server, localhost for this machine’s, * for all; repeatable',
    ).argParser(repeated),
  ].map((option) => option.helpGroup('Server:'));
}

function answerOptions(): Option[] {
  return [
    new Option('--system-prompt <text>', 'the system message of conversations that have none'),
    new Option('--max-tokens <count>', 'maximum tokens of an answer, whatever a request asks for').argParser(
      wholeNumber(1),
    ),
    new Option(
      '--default-max-tokens <count>',
      'maximum tokens of an answer whose request sets none (default: up to the end of the context)',
    ).argParser(wholeNumber(1)),
    new Option(
      '--context-shift [keep]',
      'when the context is full, drop the older half after the first [keep] tokens and continue (default: the text ends)',
    )
      .argParser(wholeNumber(0))
      .preset('0'),
    new Option(
      '--prefill-assistant',
      'continue an assistant’s message at the end of a chat (default: answer with a new one)',
    ),
    new Option('--verbose-answers', 'answers to chats tell their prompt and settings in __verbose'),
    new Option(
      '--reasoning <state>',
      'whether models with a switch for it reason, if a request does not say (default: as the template decides)',
    ).choices(['on', 'off']),
  ].map((option) => option.helpGroup('Answers:'));
}

function limitOptions(): Option[] {
  return [
    new Option('--queue <count>', 'waiting sequences per key; beyond that, 429 (default: 64)').argParser(
      wholeNumber(0),
    ),
    new Option(
      '--token-target <ms>',
      'target time between tokens while prompts are processed; 0 for none (default: 12 on a CPU, otherwise 20)',
    ).argParser(realNumber),
    new Option('--prompt-target <ms>', 'target time of steps that only process prompts; 0 for none')
      .argParser(realNumber)
      .default(PROMPT_TARGET_MS),
    new Option('--max-body <bytes>', 'maximum bytes of a request body (default: 8 MiB)').argParser(
      wholeNumber(1),
    ),
    new Option(
      '--store-items <count>',
      'maximum stored items; then the oldest leave (default: 16384)',
    ).argParser(wholeNumber(1)),
    new Option(
      '--store-bytes <bytes>',
      'maximum bytes of stored items (default: 64 MiB in memory, 4 GiB in a folder)',
    ).argParser(wholeNumber(1)),
    new Option('--keep-alive <seconds>', 'how long idle connections stay open (default: 65)').argParser(
      realNumber,
    ),
    new Option(
      '--drain-seconds <seconds>',
      'how long running requests may continue on shutdown (default: no limit)',
    ).argParser(realNumber),
    new Option(
      '--sleep-idle-seconds <seconds>',
      'unload models after so many seconds without a request (default: never)',
    ).argParser(realNumber),
    new Option(
      '--slot-save-path <folder>',
      'where POST /slots/{id} saves the states of slots (default: such requests are refused)',
    ),
    new Option('--time-limit <seconds>', 'maximum seconds of a request (default: 600)').argParser(realNumber),
  ].map((option) => option.helpGroup('Limits:'));
}

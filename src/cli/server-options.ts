import { Option } from 'commander';
import type { ServerOptions } from '../server/index.ts';
import { realNumber, repeated, wholeNumber } from './options.ts';

/** What `serve` is told about the server beside its models. */
export interface ServerFlags {
  readonly host?: string;
  readonly port?: number;
  readonly queue?: number;
  readonly maxTokens?: number;
  readonly tokenTarget: number;
  readonly apiKey?: readonly string[];
  readonly apiKeyFile?: string;
  readonly cors?: readonly string[];
  readonly maxBody?: number;
  readonly timeLimit?: number;
}

/** Milliseconds between tokens that prompts of others keep to. */
const TOKEN_TARGET_MS = 50;

/** Where `serve` listens, to whom, and what a request may take. */
export function serverOptions(): Option[] {
  return [...whereOptions(), ...limitOptions()];
}

/** What of the flags the server itself is told; its keys are read by `serve`. */
export function serverLimitsOf(
  flags: ServerFlags,
): Pick<ServerOptions, 'queue' | 'maxTokens' | 'maxBody' | 'timeLimit' | 'origins'> {
  const { queue, maxTokens, maxBody, timeLimit, cors: origins } = flags;
  const given = Object.entries({ queue, maxTokens, maxBody, timeLimit, origins });
  return Object.fromEntries(given.filter(([, value]) => value !== undefined));
}

function whereOptions(): Option[] {
  return [
    new Option('--host <address>', 'where to listen (default: 127.0.0.1, this machine alone)'),
    new Option('--port <number>', 'where to listen; 0 takes a free one (default: 8080)').argParser(
      wholeNumber(0),
    ),
    new Option('--api-key <key>', 'ask requests for a key; repeatable')
      .argParser(repeated)
      .env('ROCMFORGE_API_KEY'),
    new Option('--api-key-file <path>', 'a key a line, each with its own limits'),
    new Option('--cors <origin>', 'let pages of an origin use the server, * for all; repeatable').argParser(
      repeated,
    ),
  ].map((option) => option.helpGroup('Server:'));
}

function limitOptions(): Option[] {
  return [
    new Option('--queue <count>', 'sequences of a key that may wait; more get 429 (default: 64)').argParser(
      wholeNumber(0),
    ),
    new Option('--max-tokens <count>', 'most tokens of a text, whatever a request asks for').argParser(
      wholeNumber(1),
    ),
    new Option('--token-target <ms>', 'time between tokens that prompts of others keep to; 0 for none')
      .argParser(realNumber)
      .default(TOKEN_TARGET_MS),
    new Option('--max-body <bytes>', 'most bytes of a request (default: 8 MiB)').argParser(wholeNumber(1)),
    new Option('--time-limit <seconds>', 'most seconds of a request (default: 600)').argParser(realNumber),
  ].map((option) => option.helpGroup('Limits:'));
}

import type { AnyCommand } from '../command.ts';
import { benchCommand } from './bench.ts';
import { chatCommand } from './chat.ts';
import { devicesCommand } from './devices.ts';
import { inspectCommand } from './inspect.ts';
import { perplexityCommand } from './perplexity.ts';
import { runCommand } from './run.ts';
import { serveCommand } from './serve.ts';
import { synthCommand } from './synth.ts';
import { tokenizeCommand } from './tokenize.ts';

/** Every command, in the order of the help. */
export const COMMANDS: readonly AnyCommand[] = [
  runCommand,
  chatCommand,
  serveCommand,
  inspectCommand,
  tokenizeCommand,
  perplexityCommand,
  benchCommand,
  synthCommand,
  devicesCommand,
];

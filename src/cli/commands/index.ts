import type { AnyCommand } from '../command.ts';
import { chatCommand } from './chat.ts';
import { devicesCommand } from './devices.ts';
import { inspectCommand } from './inspect.ts';
import { runCommand } from './run.ts';
import { tokenizeCommand } from './tokenize.ts';

/** Every command, in the order of the help. */
export const COMMANDS: readonly AnyCommand[] = [
  runCommand,
  chatCommand,
  inspectCommand,
  tokenizeCommand,
  devicesCommand,
];

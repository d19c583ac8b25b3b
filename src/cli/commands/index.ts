import type { AnyCommand } from '../command.ts';
import { chatCommand } from './chat.ts';
import { devicesCommand } from './devices.ts';
import { runCommand } from './run.ts';

/** Every command, in the order of the help. */
export const COMMANDS: readonly AnyCommand[] = [runCommand, chatCommand, devicesCommand];

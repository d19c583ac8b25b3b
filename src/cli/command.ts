import type { Argument, Command, Option } from 'commander';
import type { Logger } from '../base/log.ts';
import type { ExitCode } from './exit-codes.ts';
import { addHelpAll, furtherHelp } from './help.ts';
import type { Interruption } from './interruption.ts';
import type { GlobalFlags, UnreadOptions } from './options.ts';
import type { Output } from './output.ts';

/** What every command gets from the process. */
export interface CommandContext {
  readonly output: Output;
  readonly logger: Logger;
  /** Fires at Ctrl-C; pass it to everything that takes long. */
  readonly signal: AbortSignal;
  readonly interruption: Interruption;
  readonly flags: GlobalFlags;
  /** The program with all its commands and their options, for what is said about them. */
  tree(): Promise<Command>;
}

/** How a command was called: its arguments as parsed by commander, and its options. */
export interface CommandCall<Flags> {
  readonly args: readonly (string | readonly string[] | undefined)[];
  readonly flags: Flags;
}

/** A line of the help's examples: the arguments after `rocmforge`, and what they do. */
export type Example = readonly [commandLine: string, does: string];

/**
 * A command, in a file of its own. `run` writes to `context.output`, disposes what it opened, and lets errors
 * propagate: `main` prints them and chooses the exit code. It resolves with the exit code; undefined means 0.
 */
export interface CliCommand<Flags = unknown> {
  readonly arguments?: readonly Argument[];
  readonly options: readonly Option[];
  readonly examples: readonly Example[];
  run(call: CommandCall<Flags>, context: CommandContext): Promise<ExitCode | undefined>;
  /** The options that nothing reads with these flags: given on the command line, they are refused. */
  readonly unread?: (flags: Flags) => UnreadOptions | undefined;
}

/** A command whose options are known only to itself. */
export type AnyCommand = Omit<CliCommand, 'run' | 'unread'> & {
  run(call: CommandCall<never>, context: CommandContext): Promise<ExitCode | undefined>;
  readonly unread?: (flags: never) => UnreadOptions | undefined;
};

/** Runs a command within a process, with the options that the command line gives it. */
export type StartCommand = (
  command: Command,
  run: (context: CommandContext) => Promise<ExitCode | undefined>,
) => Promise<void>;

/** Describes a command's options to commander; `start` is called when the command line names it. */
export function describeCommand(command: Command, definition: AnyCommand, start: StartCommand): void {
  for (const argument of definition.arguments ?? []) command.addArgument(argument);
  for (const option of definition.options) command.addOption(option);
  addHelpAll(command);
  command.addHelpText('after', () => furtherHelp(command) + examplesText(definition.examples));
  command.action(() =>
    start(command, (context) => {
      const call = { args: command.processedArgs, flags: command.opts() as never };
      return definition.run(call, context);
    }),
  );
}

/** The examples section of the help. */
export function examplesText(examples: readonly Example[]): string {
  const lines = examples.map(([commandLine, does]) => `  # ${does}\n  $ rocmforge ${commandLine}`);
  return `\nExamples:\n${lines.join('\n')}`;
}

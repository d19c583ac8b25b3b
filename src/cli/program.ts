import { Command, CommanderError } from 'commander';
import { fail, RocmforgeError } from '../base/errors.ts';
import { type LogFields, type Logger, silentLogger } from '../base/log.ts';
import { type CommandContext, describeCommand, examplesText } from './command.ts';
import { COMMANDS, type NamedCommand } from './commands/index.ts';
import { joinRange } from './control-vector-options.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { withFlagNames } from './flag-names.ts';
import { foreignOptionHint } from './foreign-options.ts';
import { HELP } from './help.ts';
import { Interruption } from './interruption.ts';
import { checkNeeds, type GlobalFlags, globalOptions, refuseUnread } from './options.ts';
import { Output } from './output.ts';
import { packageVersion } from '../node/package-root.ts';
import { describeError, reportError } from './report-error.ts';
import { applySettings, checkSettings, readUserSettings } from './user-settings.ts';

/** Runs the command line `argv` (without node and script) and resolves with the exit code; prints everything itself. */
export async function runProgram(argv: readonly string[]): Promise<ExitCode> {
  const output = new Output();
  using interruption = new Interruption();
  let code: ExitCode = EXIT.ok;
  /** How the running command reports failures. */
  let report: ((error: unknown) => ExitCode) | undefined;
  let failure: NodeJS.ErrnoException | undefined;
  output.stdout.on('error', (error) => {
    failure ??= error;
    interruption.end();
  });
  // Notes and logs may be lost because of a full disk or a closed pipe: that does not end any work.
  output.stderr.on('error', () => {});
  const program = createProgram();
  const isIn = ({ name, alias = name }: NamedCommand) => argv.includes(name) || argv.includes(alias);
  const isNamed = COMMANDS.some(isIn);
  for (const named of COMMANDS) {
    const { name, alias, summary, read } = named;
    const command = program.command(name).description(summary);
    if (alias !== undefined) command.alias(alias);
    // Without a named command, all are listed with their arguments.
    if (isNamed && !isIn(named)) continue;
    const definition = await read();
    describeCommand(command, definition, async (own, run) => {
      let context = await contextOf(program.opts(), output, interruption);
      report = (error) => reportError(withFlagNames(error, own), isForProgram(own), context);
      try {
        checkWorkingFolder();
        await applyUserSettings(program, own, output);
        checkNeeds(own);
        refuseUnread(own, definition.unread?.(own.opts() as never));
        context = await contextOf(program.opts(), output, interruption);
        code = (await run(context)) ?? EXIT.ok;
      } catch (error) {
        code = report(error);
      }
    });
  }
  try {
    await program.parseAsync(joinRange(argv), { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    code = error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    const hint = foreignOptionHint(error, argv);
    if (hint !== undefined) output.warn(hint);
  }
  if (!failure) return code;
  // The reader closed the pipe because it has enough.
  if (failure.code === 'EPIPE') return EXIT.ok;
  const params = { path: 'standard output', reason: failure.message };
  const error = new RocmforgeError('WRITE_FAILED', params, { cause: failure });
  if (report) return report(error);
  output.warn(describeError(error, output));
  return EXIT.failure;
}

/** Threads of Node cannot begin in a folder that is gone. Throws `SOURCE_UNAVAILABLE`. */
function checkWorkingFolder(): void {
  try {
    process.cwd();
  } catch (cause) {
    const reason = 'it was removed, or is no longer readable; change to another one';
    fail('SOURCE_UNAVAILABLE', { source: 'the working folder', reason }, cause);
  }
}

/** Whether the output is meant for a program. */
function isForProgram(command: Command): boolean {
  const { json, jsonStream } = command.opts<{ json?: boolean; jsonStream?: boolean }>();
  return json === true || jsonStream === true;
}

/** Sets what the command line leaves open as the user's settings say, and reports those that no command has. */
async function applyUserSettings(program: Command, command: Command, output: Output): Promise<void> {
  const { settings } = readUserSettings();
  if (settings.length === 0) return;
  const name = command.name();
  const used = new Set([
    ...applySettings(program, settings, name),
    ...applySettings(command, settings, name),
  ]);
  const others = settings.filter((setting) => !used.has(setting));
  // To read all commands takes as long as to start one.
  if (others.length === 0) return;
  for (const variable of checkSettings(await describeAll(), others)) {
    output.warn(`${variable} is ignored: there is no option of this name`);
  }
}

/** The program with all its commands, which do nothing. */
async function describeAll(): Promise<Command> {
  const program = createProgram();
  for (const { name, alias, summary, read } of COMMANDS) {
    const command = program.command(name).description(summary);
    if (alias !== undefined) command.alias(alias);
    describeCommand(command, await read(), async () => {});
  }
  return program;
}

function createProgram(): Command {
  const program = new Command('rocmforge')
    .description('Runs large language models from GGUF files.')
    .version(packageVersion())
    .configureHelp(HELP)
    .showHelpAfterError('(add --help for usage)')
    .exitOverride();
  for (const option of globalOptions()) program.addOption(option);
  return program.addHelpText(
    'after',
    examplesText([
      ['run "What is the capital of France?"', 'one answer from the bundled model'],
      ['chat -m model.gguf', 'a conversation'],
      ['chat hf:unsloth/Qwen3-4B-Instruct-2507-GGUF', 'a model by its name, pulled if it is not here'],
      ['inspect model.gguf', 'contents and memory requirements of a file'],
      ['run --help', 'the options of a command'],
    ]),
  );
}

async function contextOf(
  flags: GlobalFlags,
  output: Output,
  interruption: Interruption,
): Promise<CommandContext> {
  if (flags.quiet) output.verbosity = 'quiet';
  else if (flags.verbose) output.verbosity = 'verbose';
  output.logging = flags.log !== undefined;
  const logger = await loggerOf(flags, output);
  return { output, logger, interruption, signal: interruption.signal, flags, tree: describeAll };
}

/** The logger's code is loaded on demand. Warnings are printed without it. */
async function loggerOf({ log: level, logJson: json = false }: GlobalFlags, output: Output): Promise<Logger> {
  if (!level) return { ...silentLogger, warn: (text, fields) => output.warn(warningText(text, fields)) };
  const { createLogger } = await import('../node/logger.ts');
  return createLogger({ level, json });
}

function warningText(text: string, fields: LogFields = {}): string {
  const facts = Object.entries(fields).map(([key, value]) => `${key} ${String(value)}`);
  return facts.length === 0 ? text : `${text} (${facts.join(', ')})`;
}

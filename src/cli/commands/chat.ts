import { setImmediate } from 'node:timers/promises';
import { Option } from 'commander';
import { isRocmforgeError } from '../../base/errors.ts';
import { ChatSession } from '../../engine/chat-session.ts';
import { runChatCommand } from '../chat-commands.ts';
import type { CliCommand, CommandContext } from '../command.ts';
import type { TextEnd } from '../../engine/text-stream.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { LineReader } from '../line-reader.ts';
import { loadFromFlags } from '../load.ts';
import {
  type DeviceFlags,
  deviceOptions,
  draftOptions,
  loadTraceOption,
  type ModelFlags,
  modelOptions,
} from '../options.ts';
import { describeError } from '../report-error.ts';
import { type ReasoningFlags, reasoningOf, reasoningOptions, ReasoningWriter } from '../reasoning-options.ts';
import { generateOptions, type SamplingFlags, samplingOptions } from '../sampling-options.ts';
import { type TemplateFlags, templateOptions } from '../template-options.ts';
import { timingsOf, timingsText } from '../timings.ts';

interface ChatFlags extends ModelFlags, DeviceFlags, SamplingFlags, ReasoningFlags, TemplateFlags {
  readonly system?: string;
}

/** `rocmforge chat`: a conversation in the terminal, or the lines of a pipe one after another. */
export const chatCommand: CliCommand<ChatFlags> = {
  options: [
    new Option('--system <text>', 'system message'),
    ...modelOptions(),
    ...templateOptions(),
    ...draftOptions(),
    loadTraceOption(),
    ...deviceOptions(),
    ...samplingOptions(),
    ...reasoningOptions(),
  ],
  examples: [
    ['chat', 'chat with the bundled model'],
    [
      'chat -m model.gguf --system "You answer in one sentence." -c 8192',
      'your own model, with a system message',
    ],
    ['chat --greedy < questions.txt', 'one message per line of a file'],
  ],
  async run({ flags }, context) {
    const options = generateOptions(flags, context.signal);
    const { model, tell } = await loadFromFlags(flags, context);
    await using _model = model;
    // A model without a template is refused before the first question.
    void model.chatTemplate;
    const reasoning = reasoningOf(flags, { options, dialect: model.dialect });
    const session = new ChatSession(model, { ...options, reasoning, system: flags.system });
    context.output.note(`${model.gguf.name} on ${model.device.info.name}. /help lists the commands.`);
    const code = await converse(session, { context, flags, positions: model.context });
    await tell();
    return code;
  },
};

/** Reads and answers messages until the user leaves. */
async function converse(
  session: ChatSession,
  { context, flags, positions }: { context: CommandContext; flags: ReasoningFlags; positions: number },
): Promise<ExitCode> {
  const { output, interruption, signal } = context;
  let answering: AbortController | undefined;
  // Stops the answer; the second time, or between answers, ends everything.
  const interrupted = () => {
    if (answering && !answering.signal.aborted) answering.abort();
    else interruption.end();
  };
  using lines = new LineReader(output, interrupted);
  const release = interruption.take(() => lines.interrupt());
  const close = () => lines[Symbol.dispose]();
  signal.addEventListener('abort', close);
  try {
    while (!signal.aborted) {
      const event = await lines.next('> ');
      if (event.kind === 'interrupt') return EXIT.interrupted;
      if (event.kind === 'end') break;
      if (event.text.trim() === '') continue;
      const did = await runChatCommand(event.text, session, output);
      if (did === 'leave') break;
      if (did === 'stay') continue;
      answering = new AbortController();
      const end = await answer(event.text, session, { context, flags, stop: answering.signal });
      if (end && end.promptTokens + end.generatedTokens >= positions) {
        output.warn(`The context of ${positions} tokens is full; /reset begins anew.`);
      }
      answering = undefined;
    }
    return signal.aborted ? EXIT.interrupted : EXIT.ok;
  } finally {
    signal.removeEventListener('abort', close);
    release();
  }
}

/** Prints an answer as it comes; returns how it ended. A failure is printed, and the conversation continues. */
async function answer(
  text: string,
  session: ChatSession,
  { context, flags, stop }: { context: CommandContext; flags: ReasoningFlags; stop: AbortSignal },
): Promise<TextEnd | undefined> {
  const { output, signal } = context;
  let said = false;
  const thoughts = new ReasoningWriter(output, flags);
  try {
    const stream = session.ask(text, { signal: AbortSignal.any([stop, signal]) });
    for await (const { text: piece, reasoning } of stream) {
      said ||= piece !== '';
      await thoughts.write(reasoning, piece);
      await output.write(piece);
      // A device that computes on this thread would not let the event loop handle Ctrl-C.
      await setImmediate();
    }
    await thoughts.close();
    await output.line();
    output.note(output.styled('dim', timingsText(timingsOf(stream.end))));
    return stream.end;
  } catch (error) {
    await thoughts.close();
    if (said) await output.line();
    if (isRocmforgeError(error, 'ABORTED')) return undefined;
    output.warn(describeError(error, output));
    if (isRocmforgeError(error, 'CONTEXT_OVERFLOW')) output.warn('Or start over with /reset.');
    else if (!isRocmforgeError(error)) throw error;
    return undefined;
  }
}

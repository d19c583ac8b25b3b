import { setImmediate } from 'node:timers/promises';
import { Argument, Option } from 'commander';
import { fail, isRocmforgeError } from '../../base/errors.ts';
import type { SessionStream } from '../../engine/chat-session.ts';
import type { TextEnd } from '../../engine/text-stream.ts';
import { AnswerWriter, markdownOption } from '../answer-writer.ts';
import { type AnswerStep, type ChatStep, runChatCommand } from '../chat-commands.ts';
import { ChatHistory, chatHistoryPath } from '../chat-history.ts';
import type { CliCommand, CommandCall, CommandContext } from '../command.ts';
import { Conversation, type ConversationFlags } from '../conversation.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { LineReader } from '../line-reader.ts';
import { deviceOptions, draftOptions, loadTraceOption, modelOptions } from '../options.ts';
import { reasoningOptions } from '../reasoning-options.ts';
import { describeError } from '../report-error.ts';
import { samplingOptions } from '../sampling-options.ts';
import { templateOptions } from '../template-options.ts';
import { systemOf, systemOptions } from '../text-files.ts';
import { timingsOf, timingsText } from '../timings.ts';

interface ChatFlags extends ConversationFlags {
  readonly history: boolean;
}

/** `rocmforge chat`: a conversation in the terminal, or the lines of a pipe one after another. */
export const chatCommand: CliCommand<ChatFlags> = {
  arguments: [new Argument('[model]', 'the model, as with -m')],
  options: [
    ...systemOptions(),
    new Option(
      '--no-history',
      'neither read nor write the history of messages that the arrow keys go through',
    ),
    markdownOption(),
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
    ['chat hf:unsloth/Qwen3-4B-Instruct-2507-GGUF', 'a model by its name, pulled if it is not here'],
    [
      'chat -m model.gguf --system "You answer in one sentence." -c 8192',
      'your own model, with a system message',
    ],
    ['chat --greedy < questions.txt', 'one message per line of a file'],
  ],
  async run({ args, flags: given }, context) {
    const { output } = context;
    const flags = { ...given, ...modelIn(args[0], given), system: await systemOf(given) };
    await using conversation = await Conversation.open(flags, context);
    const { gguf, device } = conversation.model;
    output.note(`${gguf.name} on ${device.info.name}. /help lists the commands.`);
    const history = flags.history
      ? new ChatHistory(chatHistoryPath(), (text) => output.warn(text))
      : undefined;
    const code = await converse(conversation, history, context);
    await conversation.tell();
    return code;
  },
};

/** The model of the command line. Throws `INVALID_ARGUMENT` for two. */
function modelIn(argument: CommandCall<ChatFlags>['args'][number], { model }: ChatFlags): { model?: string } {
  if (typeof argument !== 'string') return {};
  if (model === undefined) return { model: argument };
  return fail('INVALID_ARGUMENT', {
    name: '[model]',
    found: `${argument} and --model`,
    expected: 'one model',
  });
}

/** Reads and answers messages until the user leaves. */
async function converse(
  conversation: Conversation,
  history: ChatHistory | undefined,
  context: CommandContext,
): Promise<ExitCode> {
  const { output, interruption, signal } = context;
  let answering: AbortController | undefined;
  // Stops the answer; the second time, or between answers, ends everything.
  const interrupted = () => {
    if (answering && !answering.signal.aborted) answering.abort();
    else interruption.end();
  };
  using lines = new LineReader({ output, interrupted, history });
  const release = interruption.take(() => lines.interrupt());
  const close = () => lines[Symbol.dispose]();
  signal.addEventListener('abort', close);
  const place = { conversation, output, isTerminal: lines.isTerminal };
  let draft = '';
  let isLeaving = false;
  try {
    while (!signal.aborted) {
      const event = await lines.next('> ', draft);
      draft = '';
      if (event.kind === 'end') break;
      if (event.kind === 'interrupt') {
        // Who stops an answer at its very end means the answer.
        if (isLeaving || !lines.isTerminal) return EXIT.interrupted;
        isLeaving = true;
        output.warn('\nCtrl-C again leaves, and so does /quit.');
        continue;
      }
      isLeaving = false;
      if (event.text.trim() === '') continue;
      const step: ChatStep = (await runChatCommand(event.text, place)) ?? { kind: 'ask', text: event.text };
      if (step.kind === 'leave') break;
      if (step.kind === 'edit') draft = step.text;
      if (step.kind !== 'ask' && step.kind !== 'regenerate') continue;
      answering = new AbortController();
      await answer(step, { conversation, context, stop: answering.signal });
      answering = undefined;
    }
    return interruption.ended ?? EXIT.ok;
  } finally {
    signal.removeEventListener('abort', close);
    release();
  }
}

/** Prints an answer as it comes. A failure is printed, and the conversation continues. */
async function answer(
  step: AnswerStep,
  of: { readonly conversation: Conversation; readonly context: CommandContext; readonly stop: AbortSignal },
): Promise<void> {
  const { conversation, context, stop } = of;
  const { output } = context;
  try {
    const stream = step.kind === 'ask' ? conversation.ask(step.text, stop) : conversation.regenerate(stop);
    await print(stream, conversation, context);
    output.note(output.styled('dim', timingsText(timingsOf(stream.end))));
    noteFullContext(stream.end, conversation, context);
  } catch (error) {
    if (isRocmforgeError(error, 'ABORTED')) return;
    output.warn(describeError(error, output));
    if (isRocmforgeError(error, 'CONTEXT_OVERFLOW')) output.warn('Or start over with /reset.');
    else if (!isRocmforgeError(error)) throw error;
  }
}

async function print(
  stream: SessionStream,
  { flags, isMarkdown }: Conversation,
  { output }: CommandContext,
): Promise<void> {
  const writer = new AnswerWriter(output, flags, isMarkdown);
  let said = '';
  try {
    for await (const { text, reasoning } of stream) {
      said ||= text;
      await writer.write(reasoning, text);
      // A device that computes on this thread would not let the event loop handle Ctrl-C.
      await setImmediate();
    }
  } finally {
    await writer.close();
  }
  // In a pipe, the answers follow one another as the questions did.
  if (said === '') await output.line();
}

function noteFullContext(
  { promptTokens, generatedTokens }: TextEnd,
  { model: { context: positions } }: Conversation,
  { output }: CommandContext,
): void {
  if (promptTokens + generatedTokens < positions) return;
  output.warn(`The context of ${positions} tokens is full; /reset begins anew.`);
}

import { readFile } from 'node:fs/promises';
import { fail, isRocmforgeError } from '../base/errors.ts';
import type { SavedSession } from '../engine/chat-session.ts';
import type { ChatMessage } from '../text/index.ts';
import type { Conversation } from './conversation.ts';
import type { Output } from './output.ts';
import { describeError } from './report-error.ts';
import { writeText } from './text-files.ts';

/** What follows a command: the next message is read, with a text to be edited, or answered at once; or it is all over. */
export type ChatStep =
  AnswerStep | { readonly kind: 'read' | 'leave' } | { readonly kind: 'edit'; readonly text: string };

/** What is answered: a message, or the last one once more. */
export type AnswerStep = { readonly kind: 'ask'; readonly text: string } | { readonly kind: 'regenerate' };

/** What the commands of a conversation act on. */
export interface ChatPlace {
  readonly conversation: Conversation;
  readonly output: Output;
  /** Whether somebody can edit a text. */
  readonly isTerminal: boolean;
}

/** What a line beginning with `/` does in a conversation. */
export interface ChatCommand {
  readonly name: string;
  readonly usage: string;
  readonly does: string;
  run(rest: string, place: ChatPlace): ChatStep | Promise<ChatStep>;
}

const READ: ChatStep = { kind: 'read' };

/** The commands within `rocmforge chat`. */
export const CHAT_COMMANDS: readonly ChatCommand[] = [
  {
    name: 'help',
    usage: '/help',
    does: 'this list',
    run: (_rest, { output }) => {
      for (const { usage, does } of CHAT_COMMANDS) output.warn(`${usage.padEnd(20)}${does}`);
      output.warn('A message of several lines stands between """ and """, or its lines end with \\.');
      return READ;
    },
  },
  {
    name: 'regenerate',
    usage: '/regenerate',
    does: 'answer the last question again',
    run: () => ({ kind: 'regenerate' }),
  },
  {
    name: 'undo',
    usage: '/undo',
    does: 'take back the last question and its answer',
    run: (_rest, { conversation, output }) => {
      output.note(`Taken back: ${textOf(conversation.session.undo())}`);
      return READ;
    },
  },
  {
    name: 'edit',
    usage: '/edit [TEXT]',
    does: 'change the last question: to TEXT, or in the terminal',
    run: (rest, { conversation: { session }, isTerminal }) => {
      if (rest === '' && !isTerminal) needs('/edit', 'the new text');
      const before = textOf(session.undo());
      return rest === '' ? { kind: 'edit', text: before } : { kind: 'ask', text: rest };
    },
  },
  {
    name: 'reset',
    usage: '/reset',
    does: 'clear the conversation, but keep the system message',
    run: (_rest, place) => startOver(place),
  },
  {
    name: 'system',
    usage: '/system [TEXT]',
    does: 'set the system message and start over; without text, remove it',
    run: (rest, place) => {
      place.conversation.session.system = rest === '' ? undefined : rest;
      return startOver(place);
    },
  },
  {
    name: 'set',
    usage: '/set [NAME [VALUE]]',
    does: 'show what is set, or set an option of answers, such as temperature 0.2; without VALUE its default',
    run: set,
  },
  {
    name: 'model',
    usage: '/model [LOCATION]',
    does: 'continue with another model: a file, an address or a name; without one, show this one',
    run: async (rest, { conversation, output }) => {
      if (rest !== '') await conversation.changeModel(rest);
      output.warn(`${conversation.model.gguf.name} on ${conversation.model.device.info.name}`);
      return READ;
    },
  },
  {
    name: 'save',
    usage: '/save FILE',
    does: 'save the conversation to a file, for /load',
    run: async (rest, { conversation: { session }, output }) => {
      if (rest === '') needs('/save', 'the name of a file');
      await writeText(rest, `${JSON.stringify(session.save(), null, 2)}\n`);
      output.note(`Saved ${session.messages.length} messages to ${rest}.`);
      return READ;
    },
  },
  {
    name: 'load',
    usage: '/load FILE',
    does: 'continue a conversation that /save has written',
    run: async (rest, { conversation, output }) => {
      if (rest === '') needs('/load', 'the name of a file');
      conversation.load(await savedIn(rest));
      output.note(`Loaded ${conversation.session.messages.length} messages from ${rest}.`);
      return READ;
    },
  },
  {
    name: 'image',
    usage: '/image',
    does: 'is refused: models read text only here',
    run: () => fail('MEDIA_UNSUPPORTED', { where: '/image', type: 'image' }),
  },
  {
    name: 'quit',
    usage: '/quit',
    does: 'leave (also Ctrl-D, or Ctrl-C twice)',
    run: () => ({ kind: 'leave' }),
  },
];

/**
 * Runs a message if it is a command; undefined if it is for the model. What is wrong with a command is printed, and the
 * conversation goes on.
 */
export async function runChatCommand(message: string, place: ChatPlace): Promise<ChatStep | undefined> {
  const [, name, rest = ''] = /^\/([a-z]+)(?:\s+(.*))?$/s.exec(message.trim()) ?? [];
  if (name === undefined) return undefined;
  const { output } = place;
  const command = CHAT_COMMANDS.find((candidate) => candidate.name === name);
  if (!command) {
    output.warn(`There is no /${name}; /help lists what there is.`);
    return READ;
  }
  try {
    return await command.run(rest.trim(), place);
  } catch (error) {
    if (!isRocmforgeError(error)) throw error;
    output.warn(describeError(error, output));
    return READ;
  }
}

function startOver({ conversation, output }: ChatPlace): ChatStep {
  conversation.session.clear();
  output.note('The conversation starts over.');
  return READ;
}

function set(rest: string, { conversation, output }: ChatPlace): ChatStep {
  const [, name = '', value] = /^(\S*)(?:\s+(.*))?$/s.exec(rest) ?? [];
  if (name !== '') conversation.set(name.replace(/^--/, ''), value);
  const shown = conversation.settings().map(([option, at]) => `${option} ${shownValue(at)}`);
  output.warn(shown.length === 0 ? 'Nothing is set: all options have their defaults.' : shown.join('\n'));
  return READ;
}

function shownValue(value: unknown): string {
  if (value === true) return 'on';
  if (value instanceof Map) return [...value].map(([id, bias]) => `${id}=${bias}`).join(' ');
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function textOf({ content }: ChatMessage): string {
  return typeof content === 'string' ? content : JSON.stringify(content);
}

async function savedIn(path: string): Promise<SavedSession> {
  const text = await readFile(path, 'utf8').catch((error: unknown) =>
    fail('SOURCE_UNAVAILABLE', { source: path, reason: reasonOf(error) }, error),
  );
  try {
    return JSON.parse(text) as SavedSession;
  } catch (error) {
    const expected = 'a conversation that /save has written';
    return fail('INVALID_ARGUMENT', { name: path, found: reasonOf(error), expected }, error);
  }
}

function needs(command: string, expected: string): never {
  return fail('INVALID_ARGUMENT', { name: command, found: 'nothing', expected });
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

import { writeFile } from 'node:fs/promises';
import type { ChatSession } from '../engine/chat-session.ts';
import type { Output } from './output.ts';

/** What a line beginning with `/` does in a conversation; `leave` ends it. */
export interface ChatCommand {
  readonly name: string;
  readonly usage: string;
  readonly does: string;
  run(rest: string, session: ChatSession, output: Output): Promise<'stay' | 'leave'>;
}

/** The commands within `rocmforge chat`. */
export const CHAT_COMMANDS: readonly ChatCommand[] = [
  {
    name: 'help',
    usage: '/help',
    does: 'this list',
    async run(_rest, _session, output) {
      for (const { usage, does } of CHAT_COMMANDS) output.warn(`${usage.padEnd(16)}${does}`);
      return 'stay';
    },
  },
  {
    name: 'reset',
    usage: '/reset',
    does: 'clear the conversation, but keep the system message',
    async run(_rest, session, output) {
      session.clear();
      output.note('The conversation starts over.');
      return 'stay';
    },
  },
  {
    name: 'system',
    usage: '/system TEXT',
    does: 'set the system message and start over; without text, remove it',
    async run(rest, session, output) {
      session.system = rest === '' ? undefined : rest;
      session.clear();
      output.note('The conversation starts over.');
      return 'stay';
    },
  },
  {
    name: 'save',
    usage: '/save FILE',
    does: 'save the conversation to a file as JSON',
    async run(rest, session, output) {
      if (rest === '') output.warn('/save needs the name of a file');
      else await save(rest, session, output);
      return 'stay';
    },
  },
  {
    name: 'quit',
    usage: '/quit',
    does: 'leave (also Ctrl-D, or Ctrl-C at an empty prompt)',
    run: async () => 'leave',
  },
];

/** Runs the line if it is a command; undefined if it is a message to the model. */
export async function runChatCommand(
  line: string,
  session: ChatSession,
  output: Output,
): Promise<'stay' | 'leave' | undefined> {
  const [, name, rest = ''] = /^\/(\w+)(?:\s+(.*))?$/s.exec(line.trim()) ?? [];
  if (name === undefined) return undefined;
  const command = CHAT_COMMANDS.find((candidate) => candidate.name === name);
  if (command) return command.run(rest.trim(), session, output);
  output.warn(`There is no /${name}; /help lists what there is.`);
  return 'stay';
}

async function save(path: string, session: ChatSession, output: Output): Promise<void> {
  try {
    await writeFile(path, `${JSON.stringify(session.messages, null, 2)}\n`);
    output.note(`Saved ${session.messages.length} messages to ${path}.`);
  } catch (error) {
    output.warn(`Not saved: ${error instanceof Error ? error.message : String(error)}`);
  }
}

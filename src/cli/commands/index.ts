import type { AnyCommand } from '../command.ts';

/** A command as the list of them shows it. Its code is read when it is named: reading all takes a tenth of a second. */
export interface NamedCommand {
  readonly name: string;
  readonly summary: string;
  /** Whether it opens the device that `--device` names, whatever else it is told. */
  readonly opensDevice?: true;
  read(): Promise<AnyCommand>;
}

/** Every command, in the order of the help. */
export const COMMANDS: readonly NamedCommand[] = [
  {
    name: 'run',
    summary: 'answer one prompt',
    opensDevice: true,
    read: async () => (await import('./run.ts')).runCommand,
  },
  {
    name: 'chat',
    summary: 'hold a conversation; /help inside lists its commands',
    opensDevice: true,
    read: async () => (await import('./chat.ts')).chatCommand,
  },
  {
    name: 'serve',
    summary: 'answer HTTP requests in the shape of OpenAI’s and Anthropic’s APIs',
    opensDevice: true,
    read: async () => (await import('./serve.ts')).serveCommand,
  },
  {
    name: 'inspect',
    summary: 'show what a GGUF file holds and what memory it takes; reads its header only',
    read: async () => (await import('./inspect.ts')).inspectCommand,
  },
  {
    name: 'tokenize',
    summary: 'turn a text into token ids, or ids into text',
    read: async () => (await import('./tokenize.ts')).tokenizeCommand,
  },
  {
    name: 'perplexity',
    summary: "judge a model by a text, or by a reference program's logits",
    opensDevice: true,
    read: async () => (await import('./perplexity.ts')).perplexityCommand,
  },
  {
    name: 'bench',
    summary: 'measure how fast a model loads, reads a prompt and generates',
    opensDevice: true,
    read: async () => (await import('./bench.ts')).benchCommand,
  },
  {
    name: 'synth',
    summary: 'write a model of random weights in a known shape',
    read: async () => (await import('./synth.ts')).synthCommand,
  },
  {
    name: 'devices',
    summary: 'list the devices of this machine',
    read: async () => (await import('./devices.ts')).devicesCommand,
  },
];

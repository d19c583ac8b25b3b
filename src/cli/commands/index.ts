import type { AnyCommand } from '../command.ts';

/**
 * An entry of the list of commands. A command's code is loaded when it is called: loading all takes a tenth of a
 * second.
 */
export interface NamedCommand {
  readonly name: string;
  /** Another name that people try. */
  readonly alias?: string;
  readonly summary: string;
  /** Whether it always opens the device given by `--device`. */
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
    summary: 'chat in the terminal; /help lists the commands',
    opensDevice: true,
    read: async () => (await import('./chat.ts')).chatCommand,
  },
  {
    name: 'serve',
    summary: 'serve OpenAI-compatible and Anthropic-compatible HTTP APIs',
    opensDevice: true,
    read: async () => (await import('./serve.ts')).serveCommand,
  },
  {
    name: 'worker',
    summary: "serve this machine's devices to a model of another process or machine",
    opensDevice: true,
    read: async () => (await import('./worker.ts')).workerCommand,
  },
  {
    name: 'embed',
    summary: 'compute the embeddings of texts',
    opensDevice: true,
    read: async () => (await import('./embed.ts')).embedCommand,
  },
  {
    name: 'rerank',
    summary: 'order documents by how well they answer a query',
    opensDevice: true,
    read: async () => (await import('./rerank.ts')).rerankCommand,
  },
  {
    name: 'inspect',
    summary: 'show contents and memory requirements of a GGUF file, from its header',
    read: async () => (await import('./inspect.ts')).inspectCommand,
  },
  {
    name: 'pull',
    summary: 'download a model by its name',
    read: async () => (await import('./pull.ts')).pullCommand,
  },
  {
    name: 'models',
    summary: 'suggest well-known models, and show which fit this machine',
    read: async () => (await import('./models.ts')).modelsCommand,
  },
  {
    name: 'list',
    alias: 'ls',
    summary: 'list the models that are here',
    read: async () => (await import('./list.ts')).listCommand,
  },
  {
    name: 'show',
    summary: "show a model's quantizations, and which fit this machine",
    read: async () => (await import('./show.ts')).showCommand,
  },
  {
    name: 'rm',
    summary: 'remove models',
    read: async () => (await import('./rm.ts')).removeCommand,
  },
  {
    name: 'verify',
    summary: 'check the files of models against their hashes',
    read: async () => (await import('./verify.ts')).verifyCommand,
  },
  {
    name: 'du',
    summary: 'show what models take on the disk',
    read: async () => (await import('./du.ts')).diskUseCommand,
  },
  {
    name: 'tokenize',
    summary: 'convert text to token ids, or ids to text',
    read: async () => (await import('./tokenize.ts')).tokenizeCommand,
  },
  {
    name: 'perplexity',
    summary: "judge a model by a text, or by a reference program's logits",
    opensDevice: true,
    read: async () => (await import('./perplexity.ts')).perplexityCommand,
  },
  {
    name: 'compare',
    summary: "compare two models' predictions of a text: KL divergence, same best tokens",
    opensDevice: true,
    read: async () => (await import('./compare.ts')).compareCommand,
  },
  {
    name: 'bench',
    summary: 'measure loading, prompt processing and generation',
    opensDevice: true,
    read: async () => (await import('./bench.ts')).benchCommand,
  },
  {
    name: 'convert',
    summary: 'write a GGUF file of a model in safetensors',
    read: async () => (await import('./convert.ts')).convertCommand,
  },
  {
    name: 'quantize',
    summary: 'write a smaller file of a model: Q4_K_M, Q8_0, IQ4_XS and so on',
    read: async () => (await import('./quantize.ts')).quantizeCommand,
  },
  {
    name: 'imatrix',
    summary: 'find which columns of the weights matter, for quantize',
    opensDevice: true,
    read: async () => (await import('./imatrix.ts')).imatrixCommand,
  },
  {
    name: 'split',
    summary: 'write a model as several files',
    read: async () => (await import('./split.ts')).splitCommand,
  },
  {
    name: 'join',
    summary: 'write a model of several files as one',
    read: async () => (await import('./join.ts')).joinCommand,
  },
  {
    name: 'synth',
    summary: 'write a model with random weights in a known shape',
    read: async () => (await import('./synth.ts')).synthCommand,
  },
  {
    name: 'devices',
    summary: 'list the devices of this machine',
    read: async () => (await import('./devices.ts')).devicesCommand,
  },
  {
    name: 'doctor',
    summary: 'say what this machine can do, what is missing, and how to get it',
    read: async () => (await import('./doctor.ts')).doctorCommand,
  },
  {
    name: 'config',
    summary: 'show which options are set by the config file and the environment',
    read: async () => (await import('./config.ts')).configCommand,
  },
  {
    name: 'completion',
    summary: 'print a script that completes command lines in bash, zsh or fish',
    read: async () => (await import('./completion.ts')).completionCommand,
  },
];

import { Option } from 'commander';
import { formatBytes } from '../../base/bytes.ts';
import type { WorkerEvent } from '../../node/served-worker.ts';
import type { CliCommand, CommandContext } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { type DeviceFlags, deviceOptions, jsonOption, type JsonFlags, wholeNumber } from '../options.ts';

interface WorkerFlags extends DeviceFlags, JsonFlags {
  readonly model?: string;
  readonly host?: string;
  readonly port?: number;
}

/** Options of the device that say what others have of a model: a worker has its own part only. */
const NOT_OF_WORKERS = ['--workers', '--worker-split', '--gpu-layers'];

/** `rocmforge worker`: this host's devices for a model of another process. */
export const workerCommand: CliCommand<WorkerFlags> = {
  options: [
    new Option(
      '-m, --model <file>',
      'a file of the model that will be asked for, whose weights are then read here instead of being sent; other models are refused, by metadata and samples of the weights: a damaged copy is not noticed',
    ),
    new Option('--host <address>', 'the address to listen on (default: 127.0.0.1, this machine only)'),
    new Option('--port <number>', 'the port to listen on; 0 for a free one (default: 7979)').argParser(
      wholeNumber(0, 65_535),
    ),
    ...deviceOptions().filter(({ long }) => !NOT_OF_WORKERS.includes(long ?? '')),
    jsonOption(),
  ],
  examples: [
    [
      'worker',
      'the best device of this machine for a program of this machine, with the secret of ROCMFORGE_WORKER_SECRET',
    ],
    [
      'worker --host 10.0.0.2 --device cuda --gpus 4',
      'four GPUs as one stage, for other machines of a network that you trust',
    ],
    [
      'worker --host 10.0.0.2 --device cuda -m model.gguf',
      'the same with a file of the model, so that its weights are not sent',
    ],
    [
      'run -m model.gguf --workers 10.0.0.2 "Hello"',
      'on another machine: the first layers of the model on that worker',
    ],
  ],
  run: async ({ flags }, context) => {
    await serveUntilStopped(flags, context);
    return EXIT.ok;
  },
};

async function serveUntilStopped(
  flags: WorkerFlags,
  { output, logger, signal }: CommandContext,
): Promise<void> {
  const { WorkerServer } = await import('../../node/worker-server.ts');
  const { device, threads, cpuKernels, gpus, link, workerSecret, workerDeadline } = flags;
  const { host, port, model, json } = flags;
  const write = (text: string, record: object) => (json ? output.json(record) : output.write(text));
  let told: Promise<void> = Promise.resolve();
  const tell = (event: WorkerEvent) => {
    told = told.then(() => write(...wordsFor(event)));
  };
  await using worker = await WorkerServer.open({
    device: { device, threads, cpuKernels, ...gpus, link, logger },
    host,
    port,
    model,
    secret: workerSecret,
    deadline: workerDeadline,
    onEvent: tell,
  });
  const { address, device: info, memory } = worker.description;
  const free = `${formatBytes(memory.free)} free of ${formatBytes(memory.total)}`;
  await write(`${info.backend}: ${info.name}, ${free}\nlistening on ${address}; Ctrl-C ends it\n`, {
    event: 'listening',
    address,
    device: info,
    memory,
  });
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
  await worker[Symbol.asyncDispose]();
  await told;
}

/** What is said of an event, for people and for programs. */
function wordsFor(event: WorkerEvent): [text: string, record: object] {
  const { kind, address } = event;
  if (kind === 'connected') return [`${address} uses the device\n`, { event: kind, address }];
  const why = kind === 'ended' ? event.reason.message : event.error.message;
  const text = kind === 'ended' ? `${address} has left: ${why}\n` : `${address} was refused: ${why}\n`;
  return [text, { event: kind, address, why }];
}

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { BenchRecord } from '../src/cli/bench-record.ts';
import { printHelp } from './help.ts';
import { installPeer } from './peer/install-peer.ts';
import type { PeerRequest, PeerSpeeds } from './peer/peer-worker.ts';

const USAGE = `Compares rocmforge's CPU device with node-llama-cpp's CPU build: the same files and number of threads, in separate
processes, alternating in every round.

npm run bench:peer -- [model.gguf ...] [options]

  --threads N      threads of both (default: the processor's)
  --rounds N       rounds, a process of each, of which medians are printed (default: 3)
  --repetitions N  measurements in a process after a first one that does not count (default: 5)
  --prompt N       tokens of the prompt (default: 128)
  --generate N     tokens that are generated (default: 64)
  --json           print JSON
  -h, --help       print this

Without files: a model of 1.1B in Q4_0 with random weights, which is made once, and the bundled one.`;

printHelp(USAGE);

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const CACHE = join(ROOT, '.cache');
const CLI = join(ROOT, 'dist/src/cli/rocmforge.cjs');
const WORKER = join(ROOT, 'dist/bench/peer/peer-worker.js');

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    threads: { type: 'string', default: String(availableParallelism()) },
    rounds: { type: 'string', default: '3' },
    repetitions: { type: 'string', default: '5' },
    prompt: { type: 'string', default: '128' },
    generate: { type: 'string', default: '64' },
    json: { type: 'boolean', default: false },
  },
});

interface Plan {
  readonly threads: number;
  readonly rounds: number;
  readonly repetitions: number;
  readonly promptTokens: number;
  readonly generatedTokens: number;
}

interface Comparison {
  readonly model: string;
  readonly test: string;
  /** Those of ours. */
  readonly kernels: string;
  readonly ours: number;
  readonly peers: number;
  readonly ratio: number;
}

const plan: Plan = {
  threads: Number(values.threads),
  rounds: Number(values.rounds),
  repetitions: Number(values.repetitions),
  promptTokens: Number(values.prompt),
  generatedTokens: Number(values.generate),
};
const peer = installPeer(CACHE);
const models = positionals.length > 0 ? positionals : standardModels();
const comparisons = models.flatMap((model) => compare(model, peer, plan));
const cpu = cpus()[0]?.model ?? 'unknown';
const machine = `${cpu}, ${plan.threads} threads, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.version}`;
if (values.json) console.log(JSON.stringify({ machine, comparisons }));
else console.log(table(machine, comparisons));

/** A 1.1B shape in Q4_0, and the bundled model. */
function standardModels(): string[] {
  mkdirSync(CACHE, { recursive: true });
  const large = join(CACHE, 'llama-1b-q4_0.gguf');
  if (!existsSync(large)) {
    execFileSync(process.execPath, [CLI, 'synth', 'llama-1b', '-f', 'q4_0', '-o', large], {
      stdio: ['ignore', 2, 2],
    });
  }
  const shared = join(ROOT, '../shared/models/bundle/minimind2-small-q8_0.gguf');
  return [large, existsSync(shared) ? shared : join(ROOT, 'models/minimind2-small-q4_k_m.gguf')];
}

function compare(model: string, module: string, of: Plan): Comparison[] {
  const { threads, repetitions, promptTokens, generatedTokens } = of;
  const ours = { prompt: [] as number[], generation: [] as number[] };
  const peers = { prompt: [] as number[], generation: [] as number[] };
  let kernels = 'wasm';
  for (let round = 1; round <= of.rounds; round++) {
    const mine = runOurs(model, of);
    kernels = mine.kernels ?? kernels;
    ours.prompt.push(mine.prompt);
    ours.generation.push(mine.generation);
    const theirs = runPeer({ module, model, threads, promptTokens, generatedTokens, repetitions });
    peers.prompt.push(median(theirs.prompt));
    peers.generation.push(median(theirs.generation));
    console.error(`${basename(model)}: round ${round} of ${of.rounds}, ${kernels} kernels`);
  }
  const test = (name: string, kind: 'prompt' | 'generation'): Comparison => {
    const [a, b] = [median(ours[kind]), median(peers[kind])];
    return { model: basename(model), test: name, kernels, ours: a, peers: b, ratio: a / b };
  };
  return [test(`pp${promptTokens}`, 'prompt'), test(`tg${generatedTokens}`, 'generation')];
}

function runOurs(model: string, { threads, repetitions, promptTokens, generatedTokens }: Plan) {
  const sizes = ['-p', `${promptTokens}`, '-n', `${generatedTokens}`, '-r', `${repetitions}`];
  const args = ['bench', '-m', model, '-d', 'cpu', '-t', `${threads}`, ...sizes, '--json'];
  const text = execFileSync(process.execPath, [CLI, ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 2],
  });
  const { results, kernels } = JSON.parse(text) as BenchRecord;
  return { prompt: results[0]?.median ?? 0, generation: results[1]?.median ?? 0, kernels };
}

function runPeer(request: PeerRequest): PeerSpeeds {
  const args = [WORKER, JSON.stringify(request)];
  return JSON.parse(
    execFileSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 2] }),
  ) as PeerSpeeds;
}

function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? 0) + (sorted[Math.ceil(middle)] ?? 0)) / 2;
}

function table(machineText: string, rows: readonly Comparison[]): string {
  const speed = (value: number) => value.toPrecision(4).padStart(9);
  const lines = rows.map(
    ({ model, test, kernels, ours, peers, ratio }) =>
      `${model.padEnd(30)}${test.padEnd(8)}${speed(ours)}${speed(peers)}${ratio.toFixed(2).padStart(9)}  ${kernels}`,
  );
  const head = `${'model'.padEnd(30)}${'test'.padEnd(8)}${'rocmforge'.padStart(9)}${'peer'.padStart(9)}${'ratio'.padStart(9)}  kernels`;
  return [machineText, 'tokens a second; the peer is node-llama-cpp, CPU build', head, ...lines].join('\n');
}

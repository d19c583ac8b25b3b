import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { availableParallelism, cpus, loadavg } from 'node:os';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { printHelp } from './help.ts';
import type { ClientResult, ClientRound } from './serve/stream-clients.ts';

const USAGE = `Compares rocmforge's server with llama-server: the same file, number of threads and clients, in turns on the same
cores, for Linux.

npm run bench:serve-peer -- [MODEL] [options]

  --peer PROGRAM   llama-server; without it, rocmforge alone is measured
  --clients N      clients at a time, each with one request after another; no two prompts begin alike (default: 16)
  --requests N     requests of a client in a turn (default: 3)
  --prompt N       tokens of a prompt (default: 128)
  --generate N     tokens that are generated (default: 128)
  --turns N        turns, one round of each server (default: 5)
  --threads N      threads of both (default: the processor's)
  --flags "FLAGS"  further options of rocmforge serve, such as "--token-target 30"
  -h, --help       print this

The first three ids, which are no text in usual vocabularies, are not generated. Gaps are milliseconds between two pieces of one
answer, as they arrive; first is the time to the first piece of the requests that start a turn; memory is resident, in MB. The last
rows are the median of the turns, and that of the ratios of each turn's two rounds, which follow one another and so suffer the same
load.`;

printHelp(USAGE);

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    peer: { type: 'string' },
    clients: { type: 'string', default: '16' },
    requests: { type: 'string', default: '3' },
    prompt: { type: 'string', default: '128' },
    generate: { type: 'string', default: '128' },
    turns: { type: 'string', default: '5' },
    threads: { type: 'string', default: String(availableParallelism()) },
    flags: { type: 'string', default: '' },
  },
});
const [location = 'models/minimind2-small-q4_k_m.gguf'] = positionals;
const clients = Number(values.clients);
const [promptTokens, generated] = [Number(values.prompt), Number(values.generate)];
const context = 2 ** Math.ceil(Math.log2(2 * promptTokens + generated));
const WORDS =
  'the river mountain light city small old people water time house garden story winter road bird'.split(' ');
const CLI = fileURLToPath(new URL('../src/cli/rocmforge.cjs', import.meta.url));

interface Server {
  readonly name: string;
  readonly url: string;
  readonly process: ChildProcess;
  readonly rounds: Round[];
}

/** What one turn told; times in milliseconds. */
interface Round {
  readonly p50: number;
  readonly p99: number;
  readonly most: number;
  readonly first: number;
  readonly rate: number;
  readonly resident: number;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Starts a server; resolves once it is ready. */
async function start(name: string, command: string, args: readonly string[]): Promise<Server> {
  const port = await freePort();
  const child = spawn(command, [...args, '--port', `${port}`], { stdio: 'ignore' });
  const url = `http://127.0.0.1:${port}`;
  const isReady = () =>
    fetch(`${url}/health`).then(
      ({ ok }) => ok,
      () => false,
    );
  while (!(await isReady())) {
    if (child.exitCode !== null) throw new Error(`${name} ended with code ${child.exitCode}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return { name, url, process: child, rounds: [] };
}

/** Resident memory of a process in MB. */
function residentOf({ pid }: ChildProcess): number {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1000;
}

function quantile(of: readonly number[], share: number): number {
  const sorted = of.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

/** Prompts of about as many tokens, none of which begins like another. */
function prompts(turn: number): string[] {
  return Array.from({ length: clients * Number(values.requests) }, (_, index) => {
    const seed = turn * 1009 + index * 31 + 7;
    const words = Array.from(
      { length: promptTokens - 8 },
      (_, i) => WORDS[(seed * (i + 3) ** 2 + i) % WORDS.length],
    );
    return `${turn}/${index}: ${words.join(' ')}`;
  });
}

/** What the clients send next. Rejects if they end instead. */
async function answerOf(sender: ChildProcess): Promise<readonly ClientResult[]> {
  const over = new AbortController();
  const { signal } = over;
  const ended = once(sender, 'exit', { signal }).then(() =>
    Promise.reject(new Error('the clients have ended')),
  );
  try {
    const [results] = (await Promise.race([once(sender, 'message', { signal }), ended])) as [
      readonly ClientResult[],
    ];
    return results;
  } finally {
    over.abort();
  }
}

async function round(to: Server, sender: ChildProcess, of: readonly string[]): Promise<Round> {
  const begin = performance.now();
  sender.send({ url: to.url, prompts: of, generated, clients, banned: [0, 1, 2] } satisfies ClientRound);
  const results = await answerOf(sender);
  const seconds = (performance.now() - begin) / 1000;
  const gaps = results.flatMap((result) => result.gaps);
  const starts = results.slice(0, clients).map(({ first }) => first);
  return {
    ...{ p50: quantile(gaps, 0.5), p99: quantile(gaps, 0.99), most: Math.max(...gaps) },
    first: quantile(starts, 0.5),
    rate: (of.length * generated) / seconds,
    resident: residentOf(to.process),
  };
}

function row(name: string, { p50, p99, most, first, rate, resident }: Round, digits = 1): void {
  const shown = [p50, p99, most, first, rate, resident].map((value) => value.toFixed(digits).padStart(9));
  console.log(`${name.padEnd(24)}${shown.join('')}`);
}

function median(rounds: readonly Round[]): Round {
  return figures((pick) => quantile(rounds.map(pick), 0.5));
}

/** One figure for each that a round has. */
function figures(of: (pick: (round: Round) => number) => number): Round {
  return {
    p50: of((round) => round.p50),
    p99: of((round) => round.p99),
    most: of((round) => round.most),
    first: of((round) => round.first),
    rate: of((round) => round.rate),
    resident: of((round) => round.resident),
  };
}

/** The first server's figures as shares of the other's, as the median of the turns. */
function ratios([ours, theirs]: readonly Server[]): Round | undefined {
  if (!ours || !theirs) return undefined;
  const of = (pick: (round: Round) => number) => {
    const shares = ours.rounds.map((round, turn) => pick(round) / pick(theirs.rounds[turn] as Round));
    return quantile(shares, 0.5);
  };
  return figures(of);
}

async function compare(servers: readonly Server[], sender: ChildProcess): Promise<void> {
  console.log(`${cpus()[0]?.model}, ${availableParallelism()} cores, ${values.threads} threads each`);
  console.log(`${clients} clients x ${values.requests} requests of ${promptTokens} + ${generated} tokens`);
  for (const { name, process: of } of servers) console.log(`${name} idle: ${residentOf(of).toFixed(0)} MB`);
  console.log(`${' '.repeat(24)}      p50      p99     most    first    tok/s memory/MB`);
  for (let turn = 0; turn < Number(values.turns); turn++) {
    for (const server of turn % 2 === 0 ? servers : servers.toReversed()) {
      const told = await round(server, sender, prompts(turn));
      server.rounds.push(told);
      row(`${server.name}, load ${loadavg()[0]?.toFixed(1)}`, told);
    }
  }
  for (const { name, rounds } of servers) row(`${name}, median`, median(rounds));
  const shares = ratios(servers);
  if (shares) row('ratio, median', shares, 2);
}

const { threads } = values;
const flags = values.flags.split(' ').filter((word) => word !== '');
const ours = ['serve', '-m', location, '--parallel', `${clients}`, '-c', `${context}`, '--device', 'cpu'];
const servers = [await start('rocmforge', process.execPath, [CLI, ...ours, '--threads', threads, ...flags])];
const sender = fork(fileURLToPath(new URL('serve/stream-clients.js', import.meta.url)));
try {
  if (values.peer !== undefined) {
    const theirs = ['-m', location, '-np', `${clients}`, '-c', `${clients * context}`, '-t', threads];
    servers.push(await start('llama-server', values.peer, theirs));
  }
  await compare(servers, sender);
} finally {
  for (const { process: of } of servers) of.kill();
  sender.kill();
}

import { existsSync, mkdirSync } from 'node:fs';
import { cpus } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { ModelOptions } from '../src/engine/language-model.ts';
import { Q8_0 } from '../src/formats/index.ts';
import { type SyntheticShape, syntheticShape } from '../src/model/synthetic/shapes.ts';
import { reportDevices } from '../src/node/devices.ts';
import { loadModel } from '../src/node/load-model.ts';
import { writeSyntheticModel } from '../src/node/write-synthetic-model.ts';
import { EVERYTHING, type Mechanism, MECHANISMS } from './runtime/mechanisms.ts';
import { type Measured, measure, type Workload } from './runtime/workload.ts';

// What each mechanism of the engine is worth: the same work with it and without it, in turns, as a ratio beside what the
// design expected. `npm run bench:runtime -- [model.gguf ...] [--device cpu,cuda] [--slots 8] [--prompt 32] [--generate 48]
// [--rounds 3] [--json]`. Without a file: small models of a Llama's and of RWKV-7's shape; without a device: all there are.

const CACHE = join(fileURLToPath(new URL('../../', import.meta.url)), '.cache');
const SHAPES: Readonly<Record<string, SyntheticShape>> = {
  llama: syntheticShape('llama-1b', {
    layers: 4,
    width: 512,
    heads: 8,
    kvHeads: 4,
    hidden: 1408,
    context: 512,
  }),
  rwkv7: syntheticShape('rwkv7-2.9b', {
    layers: 4,
    width: 512,
    heads: 8,
    kvHeads: 8,
    hidden: 2048,
    context: 512,
  }),
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    device: { type: 'string' },
    slots: { type: 'string', default: '8' },
    prompt: { type: 'string', default: '32' },
    generate: { type: 'string', default: '48' },
    rounds: { type: 'string', default: '3' },
    json: { type: 'boolean', default: false },
  },
});
const rounds = Number(values.rounds);
const work: Workload = {
  slots: Number(values.slots),
  promptTokens: Number(values.prompt),
  generatedTokens: Number(values.generate),
};

interface Gain {
  readonly mechanism: string;
  readonly expected: string;
  /** With it over without it: tokens a second of one sequence, and of all together. */
  readonly latency: number;
  readonly throughput: number;
  /** Without it over with it: the mean time of a request. */
  readonly request: number;
  readonly on: Measured;
  readonly off: Measured;
}

async function syntheticFiles(): Promise<string[]> {
  mkdirSync(CACHE, { recursive: true });
  const files: string[] = [];
  for (const [name, shape] of Object.entries(SHAPES)) {
    const path = join(CACHE, `runtime-${name}-q8_0.gguf`);
    if (!existsSync(path)) await writeSyntheticModel({ path, name, shape, format: Q8_0, seed: 1 });
    files.push(path);
  }
  return files;
}

/** The devices that run models on this machine. */
async function devicesHere(): Promise<string[]> {
  const reports = await reportDevices();
  return reports.filter(({ error }) => error === undefined).map(({ device }) => device);
}

function median(of: readonly Measured[], key: keyof Measured): number {
  const sorted = of.map((round) => round[key]).sort((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? Number.NaN;
}

function middle(of: readonly Measured[]): Measured {
  const keys = Object.keys(of[0] ?? {}) as (keyof Measured)[];
  return Object.fromEntries(keys.map((key) => [key, median(of, key)])) as unknown as Measured;
}

/** Runs both in turns, so that what else the machine does harms both; a first round of each is not counted. */
async function compare(path: string, device: string, mechanism: Mechanism): Promise<Gain> {
  const open = (options: ModelOptions) => {
    const context = 2 * (work.promptTokens + work.generatedTokens);
    return loadModel(path, { device, load: 'eager', context, sequences: work.slots, ...options });
  };
  await using on = await open(mechanism.on ?? EVERYTHING);
  await using off = await open(mechanism.off);
  const measured: { on: Measured[]; off: Measured[] } = { on: [], off: [] };
  for (let round = 0; round <= rounds; round++) {
    const pair = [await measure(on, work), await measure(off, work)] as const;
    if (round === 0) continue;
    measured.on.push(pair[0]);
    measured.off.push(pair[1]);
  }
  const [withIt, without] = [middle(measured.on), middle(measured.off)];
  return {
    mechanism: mechanism.name,
    expected: mechanism.expected,
    latency: without.tokenMs / withIt.tokenMs,
    throughput: withIt.throughput / without.throughput,
    request: without.requestMs / withIt.requestMs,
    on: withIt,
    off: without,
  };
}

function row(cells: readonly string[]): string {
  return cells.map((cell, i) => (i === 0 ? cell.padEnd(22) : cell.padStart(i === 1 ? 10 : 12))).join('');
}

function gainText({ mechanism, expected, latency, throughput, request, on, off }: Gain): string {
  const ratio = (value: number) => `${value.toFixed(2)} x`;
  const share = (value: number) => `${(100 * value).toFixed(1)} %`;
  const bytes = `${on.bytesBackPerToken.toFixed(1)}/${off.bytesBackPerToken.toFixed(0)}`;
  const hits = `${share(on.hitRate)}`;
  return row([mechanism, expected, ratio(latency), ratio(throughput), ratio(request), hits, bytes]);
}

const files = positionals.length > 0 ? positionals : await syntheticFiles();
const devices = values.device?.split(',') ?? (await devicesHere());
const found: object[] = [];
if (!values.json) console.log(`${cpus()[0]?.model ?? ''}, Node ${process.version}, ${JSON.stringify(work)}`);
for (const path of files) {
  for (const device of devices) {
    if (!values.json) {
      console.log(`\n${basename(path)} on ${device}`);
      console.log(row(['mechanism', 'expected', 'one seq.', 'all', 'a request', 'pre-built', 'bytes/token']));
    }
    for (const mechanism of MECHANISMS) {
      const gain = await compare(path, device, mechanism);
      found.push({ model: basename(path), device, ...gain });
      if (!values.json) console.log(gainText(gain));
    }
  }
}
if (values.json) console.log(JSON.stringify({ work, rounds, found }));

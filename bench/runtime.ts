import { existsSync, mkdirSync } from 'node:fs';
import { cpus } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { LanguageModel } from '../src/engine/language-model.ts';
import { StepProfile } from '../src/runtime/jobs/step-profile.ts';
import { Q8_0 } from '../src/formats/index.ts';
import { syntheticShape } from '../src/model/synthetic/shapes.ts';
import type { SyntheticShape } from '../src/model/synthetic-family.ts';
import { reportDevices } from '../src/node/devices.ts';
import { type LoadModelOptions, loadModel } from '../src/node/load-model.ts';
import { writeSyntheticModel } from '../src/node/write-synthetic-model.ts';
import { EVERYTHING, type Mechanism, MECHANISMS, NOTHING_AHEAD } from './runtime/mechanisms.ts';
import { type Compared, shortfall } from './runtime/shortfall.ts';
import { figuresOf } from './runtime/step-figures.ts';
import { firstTokens, type Measured, measure, runAll, runAlone, type Workload } from './runtime/workload.ts';

// The gain of each mechanism of the engine: the same workload with and without it, alternating, as a ratio beside the
// expected one; if it is below, the measurement that explains why. `npm run bench:runtime -- [model.gguf ...] [--device
// cpu,cuda] [--slots 8] [--prompt 32] [--generate 48] [--rounds 3] [--json]`. Without a file: small models in the
// shapes of Llama and RWKV-7; without a device: all available ones.

const CACHE = join(fileURLToPath(new URL('../../', import.meta.url)), '.cache');
const HEADINGS = [
  'mechanism',
  'expected',
  'one seq.',
  'all',
  'a request',
  'pre-built',
  'bytes/token',
  'bytes up/step',
  'idle, one',
  'idle, all',
];
/** Long enough to record every shape of a step, on any device. */
const REST_MS = 1000;
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

interface Gain extends Compared {
  /** The mean time of a request without the mechanism, relative to that with it. */
  readonly request: number;
  readonly measured: { readonly on: Measured; readonly off: Measured };
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

async function open(path: string, device: string, options: LoadModelOptions): Promise<LanguageModel> {
  const context = 2 * (work.promptTokens + work.generatedTokens);
  const sized = { context, sequences: work.slots };
  const model = await loadModel(path, { device, load: 'eager', ...sized, ...options });
  await model.device.settle?.();
  return model;
}

/** Where the time of steps goes, in a separate round because measuring costs time. */
async function figures(path: string, device: string, options: LoadModelOptions): Promise<Compared['on']> {
  const profile = new StepProfile();
  await using model = await open(path, device, { ...options, profile });
  const alone = async () => (await runAlone(model, work)).generatedTokens;
  const all = async () => (await runAll(model, work)).generated;
  await alone();
  await all();
  return { alone: await figuresOf(profile, alone), all: await figuresOf(profile, all) };
}

/** Runs both alternately, so that other load affects both; the first round of each is not counted. */
async function compare(
  path: string,
  device: string,
  { mechanism, look }: { mechanism: Mechanism; look: (options: LoadModelOptions) => Promise<Compared['on']> },
): Promise<Gain> {
  const [withIt, without] = [mechanism.on ?? EVERYTHING, mechanism.off];
  const rounds = await inTurns(path, device, [withIt, without]);
  const [on, off] = [middle(rounds[0]), middle(rounds[1])];
  return {
    mechanism,
    latency: off.tokenMs / on.tokenMs,
    throughput: on.throughput / off.throughput,
    request: off.requestMs / on.requestMs,
    measured: { on, off },
    on: await look(withIt),
    off: await look(without),
  };
}

async function inTurns(
  path: string,
  device: string,
  [withIt, without]: readonly [LoadModelOptions, LoadModelOptions],
): Promise<readonly [Measured[], Measured[]]> {
  await using on = await open(path, device, withIt);
  await using off = await open(path, device, without);
  const measured: readonly [Measured[], Measured[]] = [[], []];
  for (let round = 0; round <= rounds; round++) {
    const pair = [await measure(on, work), await measure(off, work)] as const;
    if (round === 0) continue;
    measured[0].push(pair[0]);
    measured[1].push(pair[1]);
  }
  return measured;
}

/** First tokens of a new model, after a rest. */
async function firstTokensOf(path: string, device: string, options: LoadModelOptions) {
  await using model = await open(path, device, options);
  await new Promise((resolve) => setTimeout(resolve, REST_MS));
  const times = await firstTokens(model);
  return { times, rows: model.plan.plans.map(({ shape }) => shape.rows), counters: model.counters };
}

async function ahead(path: string, device: string) {
  const on = await firstTokensOf(path, device, EVERYTHING);
  return { on, off: await firstTokensOf(path, device, NOTHING_AHEAD) };
}

function row(cells: readonly string[]): string {
  return cells.map((cell, i) => (i === 0 ? cell.padEnd(22) : cell.padStart(i === 1 ? 10 : 15))).join('');
}

function gainText(gain: Gain): string {
  const { mechanism, latency, throughput, request, measured, on, off } = gain;
  const [least, most] = mechanism.expected;
  const ratio = (value: number) => `${value.toFixed(2)} x`;
  const percents = (a: number, b: number) => `${(100 * a).toFixed(1)}/${(100 * b).toFixed(1)} %`;
  const bytes = [measured.on, measured.off].map((side) => side.bytesBackPerToken.toFixed(0)).join('/');
  const cells = [mechanism.name, `+${least}-${most} %`, ratio(latency), ratio(throughput), ratio(request)];
  const up = [measured.on, measured.off].map((side) => side.bytesUpPerStep.toFixed(0)).join('/');
  cells.push(percents(measured.on.hitRate, measured.off.hitRate), bytes, up);
  cells.push(
    percents(on.alone.idleFraction, off.alone.idleFraction),
    percents(on.all.idleFraction, off.all.idleFraction),
  );
  const why = shortfall(gain);
  return row(cells) + (why === undefined ? '' : `\n    less than expected: ${why}`);
}

function aheadText({ on, off }: Awaited<ReturnType<typeof ahead>>): string {
  const times = on.rows.map(
    (rows, i) => `${rows}: ${(on.times[i] ?? 0).toFixed(1)}/${(off.times[i] ?? 0).toFixed(1)}`,
  );
  const { preparedAhead, preparedAheadUsed } = on.counters;
  const counts = `${preparedAheadUsed} of ${preparedAhead} steps recorded ahead were wanted`;
  return `recorded ahead, ms to the first token of the first prompt of so many rows, with/without: ${times.join(', ')}; ${counts}`;
}

const files = positionals.length > 0 ? positionals : await syntheticFiles();
const devices = values.device?.split(',') ?? (await devicesHere());
const found: object[] = [];
if (!values.json) console.log(`${cpus()[0]?.model ?? ''}, Node ${process.version}, ${JSON.stringify(work)}`);
for (const path of files) {
  for (const device of devices) {
    if (!values.json) {
      console.log(`\n${basename(path)} on ${device}; with the mechanism/without it`);
      console.log(row(HEADINGS));
    }
    const seen = new Map<LoadModelOptions, Compared['on']>();
    const look = async (options: LoadModelOptions) => {
      const known = seen.get(options) ?? (await figures(path, device, options));
      seen.set(options, known);
      return known;
    };
    for (const mechanism of MECHANISMS) {
      const gain = await compare(path, device, { mechanism, look });
      found.push({ model: basename(path), device, shortfall: shortfall(gain), ...gain });
      if (!values.json) console.log(gainText(gain));
    }
    const firsts = await ahead(path, device);
    found.push({ model: basename(path), device, ahead: firsts });
    if (!values.json) console.log(aheadText(firsts));
  }
}
if (values.json) console.log(JSON.stringify({ work, rounds, found }));

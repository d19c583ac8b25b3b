/**
 * The speed of the CPU's product kernels: `node dist/bench/kernels.js [--baseline] [format ...]`. One row per format:
 * weights per second for one row of activations, from memory (with the packed bytes read); multiply-adds per second for
 * 64 rows; both relative to Q4_0; and the bytes of the file packed per second. On one and two threads. Of many short
 * measurements the best counts: a busy machine disturbs most of them, but not all.
 */
import { readFileSync } from 'node:fs';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { WEIGHT_LAYOUTS } from '../src/devices/cpu/weight-layouts.ts';
import { allowRelaxedSimd } from '../src/node/open-cpu.ts';

allowRelaxedSimd();

const COLUMNS = 2048;
const PROMPT_ROWS = 64;
const PACK_ROWS = 128;
const WEIGHT_BYTES = 160 << 20;
const MEMORY_BYTES = 1 << 29;
const ROUNDS = 120;
/** Multiply-adds of one measurement: about a hundred microseconds. */
const SLICE = 2e6;

interface Task {
  readonly memory: WebAssembly.Memory;
  readonly gate: SharedArrayBuffer;
  readonly threads: number;
  readonly id: number;
  readonly formats: readonly string[];
  readonly variant: string;
}

/** Weights, multiply-adds and packed weights per second, in 10⁹. */
interface Speed {
  generate: number;
  prompt: number;
  pack: number;
}

type Kernel = (...addresses: number[]) => void;

/** A barrier for all threads, so that they measure at the same time. */
function meet(gate: Int32Array, step: number, threads: number): void {
  Atomics.add(gate, step, 1);
  while (Atomics.load(gate, step) < threads);
}

/** The best speed of `ROUNDS` measurements; `run` receives their numbers. */
function best(work: number, run: (round: number) => void, align: () => void): number {
  let speed = 0;
  for (let round = 0; round < ROUNDS; round++) {
    align();
    const begin = performance.now();
    run(round);
    speed = Math.max(speed, work / 1e6 / (performance.now() - begin));
  }
  return speed;
}

/** Row counts of slices: whole bands of rows, with `SLICE` multiply-adds in total. */
function sliceRows(tokens: number): number {
  return Math.max(32, Math.floor(SLICE / COLUMNS / tokens / 32) * 32);
}

function measureFormat(name: string, kernels: Record<string, Kernel>, id: number, align: () => void): Speed {
  const layout = WEIGHT_LAYOUTS[name];
  if (layout === undefined) throw new Error(`no layout for ${name}`);
  const quad = layout.packedBytes(4, COLUMNS) - layout.packedBytes(0, COLUMNS);
  const weights = (64 << 20) + id * (WEIGHT_BYTES + (1 << 16));
  const own = (1 + id) << 23;
  const [scratch, x, y] = [own, own + (1 << 20), own + (2 << 20)];
  const rows = sliceRows(1);
  const slices = Math.floor(WEIGHT_BYTES / ((quad * rows) / 4));
  const matVec = kernels[layout.matVec] as Kernel;
  const generate = (round: number) => {
    const begin = (round % slices) * rows;
    matVec(weights, x, y - 4 * begin, begin, begin + rows, COLUMNS, 1, scratch);
  };
  const matMat = kernels[layout.matMat] as Kernel;
  const some = sliceRows(PROMPT_ROWS);
  const prompt = () => matMat(weights, x, y, 0, some, COLUMNS, PROMPT_ROWS, some, scratch);
  const packed = own + (5 << 20);
  const pack = () => (kernels[layout.pack] as Kernel)(x, packed, 0, PACK_ROWS, COLUMNS, scratch);
  return {
    generate: best(rows * COLUMNS, generate, align),
    prompt: best(some * COLUMNS * PROMPT_ROWS, prompt, align),
    pack: best(PACK_ROWS * COLUMNS, pack, align),
  };
}

function measure(task: Task): Record<string, Speed> {
  const wasm = readFileSync(new URL(`../src/devices/cpu/kernels.${task.variant}.wasm`, import.meta.url));
  const kernels = new WebAssembly.Instance(new WebAssembly.Module(wasm), { env: { memory: task.memory } })
    .exports as Record<string, Kernel>;
  const gate = new Int32Array(task.gate);
  let step = 0;
  const align = () => meet(gate, step++, task.threads);
  return Object.fromEntries(
    task.formats.map((format) => [format, measureFormat(format, kernels, task.id, align)]),
  );
}

async function onThreads(
  threads: number,
  formats: readonly string[],
  variant: string,
): Promise<Record<string, Speed>> {
  const memory = new WebAssembly.Memory({ initial: MEMORY_BYTES >> 16, maximum: 65535, shared: true });
  const words = new Uint32Array(memory.buffer);
  // Ensures that the scales of any layout, f16 or f32, are ordinary numbers: 1/128 .. 1/32 or near 1.
  for (let i = 0; i < words.length; i++) words[i] = 0x3c002000 | (Math.imul(i, 0x9e3779b1) & 0x00ff0fff);
  const gate = new SharedArrayBuffer(1 << 16);
  const runs = Array.from({ length: threads }, (_, id) => {
    const workerData: Task = { memory, gate, threads, id, formats, variant };
    return new Promise<Record<string, Speed>>((resolve, reject) => {
      const worker = new Worker(new URL(import.meta.url), { workerData });
      worker.once('message', resolve);
      worker.once('error', reject);
    });
  });
  const speeds = await Promise.all(runs);
  return Object.fromEntries(
    formats.map((format) => {
      const sum = (of: keyof Speed) => speeds.reduce((total, run) => total + (run[format]?.[of] ?? 0), 0);
      return [format, { generate: sum('generate'), prompt: sum('prompt'), pack: sum('pack') }];
    }),
  );
}

async function main(): Promise<void> {
  const args = process.argv.slice(2);
  const variant = args.includes('--baseline') ? 'baseline' : 'relaxed';
  const asked = args.filter((arg) => !arg.startsWith('--'));
  const formats = asked.length > 0 ? asked : Object.keys(WEIGHT_LAYOUTS);
  console.log(`${variant} SIMD, ${COLUMNS} columns, prompts of ${PROMPT_ROWS} rows`);
  for (const threads of [1, 2]) {
    const speeds = await onThreads(threads, formats, variant);
    console.log(`${threads} thread${threads > 1 ? 's' : ''}`);
    for (const format of formats) {
      const speed = speeds[format];
      const layout = WEIGHT_LAYOUTS[format];
      if (speed === undefined || layout === undefined) continue;
      const rows = 1 << 20;
      const bytes = layout.packedBytes(rows, COLUMNS) / rows / COLUMNS;
      const base = speeds.Q4_0 ?? speed;
      console.log(
        `${format.padEnd(8)} ${layout.name.padEnd(19)} ${(8 * bytes).toFixed(2).padStart(5)} bits` +
          ` ${speed.generate.toFixed(1).padStart(6)} Gweights/s ${(speed.generate * bytes).toFixed(1).padStart(5)} GB/s` +
          ` ${(speed.generate / base.generate).toFixed(2)}x ${speed.prompt.toFixed(1).padStart(6)} GMAC/s` +
          ` ${(speed.prompt / base.prompt).toFixed(2)}x pack ${speed.pack.toFixed(1).padStart(5)} Gweights/s`,
      );
    }
  }
}

if (isMainThread) await main();
else parentPort?.postMessage(measure(workerData as Task));

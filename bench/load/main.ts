import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Device } from '../../src/device/index.ts';
import { AsyncModelLoader, type LoaderOptions, SYNCHRONOUS } from '../../src/load/async-model-loader.ts';
import { LOAD_PHASES } from '../../src/load/load-clock.ts';
import { DECODING_SIZES } from '../../src/load/loader-sizes.ts';
import { LoadTrace } from '../../src/load/load-trace.ts';
import type { WeightPolicy } from '../../src/formats/weight-policy.ts';
import { Q4_0 } from '../../src/formats/index.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { ExecutionPlan } from '../../src/plan/execution-plan.ts';
import { syntheticShape } from '../../src/model/synthetic/shapes.ts';
import { openDevice } from '../../src/node/devices.ts';
import { openGguf } from '../../src/node/index.ts';
import { openDecoder } from '../../src/node/open-cpu.ts';
import { writeSyntheticModel } from '../../src/node/write-synthetic-model.ts';
import { decodedOn, type LoadMeasurement, measureLoad } from './measure-load.ts';
import { printModes } from './modes.ts';
import { printRepeats } from './repeats.ts';
import { printSweeps, printTensorSizes } from './sweeps.ts';
import type { LazyTensor } from '../../src/load/lazy-tensor.ts';
import { busyShares, timelineSvg } from './timeline.ts';

// How fast weights are loaded onto a device: synchronously and with our loader, option sweeps, load modes, a trace and
// its picture. `npm run bench:load -- [model.gguf …] [--shape llama-2-7b] [--device cpu] [--weights blocks,f32]
// [--rounds 3] [--quick]`; further models are loaded together with the first at the end.

const CACHE = join(fileURLToPath(new URL('../../../', import.meta.url)), '.cache');

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    shape: { type: 'string', default: 'llama-1b' },
    device: { type: 'string', default: 'auto' },
    weights: { type: 'string', default: 'blocks,f32' },
    rounds: { type: 'string', default: '3' },
    quick: { type: 'boolean', default: false },
  },
});
const rounds = Number(values.rounds);
mkdirSync(CACHE, { recursive: true });
const path = positionals[0] ?? (await syntheticFile(values.shape));
const others = positionals.slice(1);
const open = () => openDevice({ device: values.device });
const began = performance.now();
await using gguf = await openGguf(path);
const opened = performance.now();
await using decoder = await openDecoder();
{
  const beforeDevice = performance.now();
  await using device = await open();
  const deviceOpened = performance.now();
  console.log(
    `${gguf.name} on ${device.info.backend} (${device.info.name}), ${cpus()[0]?.model ?? ''}, Node ${process.version}`,
  );
  console.log(`open ${ms(opened - began)} for the header, ${ms(deviceOpened - beforeDevice)} for the device`);
  for (const weights of values.weights.split(',') as WeightPolicy[]) {
    await using loader = new AsyncModelLoader(device);
    const source = { gguf, device, architectures: ALL_ARCHITECTURES };
    const beforePlan = performance.now();
    await using plan = await ExecutionPlan.fromGguf(source, loader, { weights, context: 512 });
    const planned = performance.now() - beforePlan;
    const onHost = decodedOn('host', plan.weights, loader);
    const options: LoaderOptions = weights === 'blocks' ? {} : { ...DECODING_SIZES, decoder };
    const sync = await measureLoad(device, onHost, { ...options, ...SYNCHRONOUS }, 1);
    const ours = await measureLoad(device, onHost, options, rounds);
    console.log(`\nweights as ${weights}, planned and allocated in ${ms(planned)}`);
    console.log(row('synchronous', sync));
    console.log(row('asynchronous', ours));
    console.log(`${(sync.seconds / ours.seconds).toFixed(2)} times as fast`);
    if (weights !== 'blocks' && device.readyToDecode) {
      console.log(row('on the device', await measureLoad(device, plan.weights, {}, rounds)));
    }
    await drawTimeline(weights, device, { weights: onHost, options });
    if (!values.quick) await printSweeps(device, onHost, options, rounds);
  }
  if (!values.quick) {
    console.log('\nGB/s by size of tensor');
    const [first] = gguf.parts;
    if (first) await printTensorSizes(device, first.source);
  }
}
console.log('\nlatency by load mode');
await printModes(path, open);
if (!values.quick) {
  console.log('\none model again and again');
  await printRepeats([path, ...others], open);
}

/** Writes the trace of the fastest of several loads, and its picture. */
async function drawTimeline(
  name: string,
  device: Device,
  { weights, options }: { weights: readonly LazyTensor[]; options: LoaderOptions },
): Promise<void> {
  const trace = new LoadTrace();
  await using loader = new AsyncModelLoader(device, { ...options, trace });
  await loader.load(weights);
  let best = Number.POSITIVE_INFINITY;
  let shares: string[] = [];
  for (let round = 0; round < Math.max(rounds, 5); round++) {
    trace.clear();
    const { seconds } = await loader.load(weights);
    if (seconds >= best) continue;
    best = seconds;
    shares = sharesOf(trace);
    writeFileSync(join(CACHE, `load-${name}.trace.json`), JSON.stringify(trace));
    writeFileSync(join(CACHE, `load-${name}.svg`), timelineSvg(trace));
  }
  const busy = `busy from first to last byte: ${shares.join(', ')}`;
  console.log(`traced: ${ms(1000 * best)}; ${busy}; see .cache/load-${name}.svg`);
}

function sharesOf(trace: LoadTrace): string[] {
  const kinds = new Set(trace.rows.map((line) => line.split(' ')[0] ?? ''));
  return [...kinds].map((kind) => {
    const { any, each } = busyShares(trace, kind);
    return `${kind} ${percent(any)} (each ${percent(each)})`;
  });
}

function row(name: string, of: LoadMeasurement): string {
  const { seconds, gigabytesPerSecond, uploadedGigabytesPerSecond, breakdown } = of;
  // Opening the header and planning happen once for all of them.
  const own = LOAD_PHASES.filter((phase) => phase !== 'open' && phase !== 'plan');
  const phases = own.map((phase) => `${phase} ${(1000 * breakdown[phase].busy).toFixed(0)}`).join(' ');
  const speed = `${gigabytesPerSecond.toFixed(2)} GB/s read, ${uploadedGigabytesPerSecond.toFixed(2)} GB/s uploaded`;
  const cost = `delay p99 ${of.delayMilliseconds.toFixed(1)} ms, ${of.grownMebibytes.toFixed(0)} MiB more`;
  const times = `${ms(1000 * seconds)} (the first load ${ms(1000 * of.firstSeconds)})`;
  return `${name.padEnd(14)}${times}, ${speed}; busy ms: ${phases}; ${cost}`;
}

function ms(milliseconds: number): string {
  return `${milliseconds.toFixed(1)} ms`;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(0)} %`;
}

async function syntheticFile(shape: string): Promise<string> {
  const file = join(CACHE, `${shape}-q4_0.gguf`);
  if (!existsSync(file)) {
    console.error(`writing ${file}`);
    await writeSyntheticModel({
      path: file,
      name: shape,
      shape: syntheticShape(shape),
      format: Q4_0,
      seed: 1,
    });
  }
  return file;
}

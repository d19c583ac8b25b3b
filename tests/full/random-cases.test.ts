import { describe, test } from 'node:test';
import type { Device } from '../../src/device/index.ts';
import { openCpu } from '../../src/node/open-cpu.ts';
import { checkCase } from '../support/contract/operators.ts';
import { randomCase } from '../support/contract/random-cases.ts';
import { openAsHardware, openWithEmulatedMatrices } from '../support/emulated-matrices.ts';
import { findCompiler } from '../support/emulator/build-emulator.ts';
import { Emulator, withDevice } from '../support/hip-cuda/emulator.ts';
import { NO_SOFTWARE_GPU, openSoftwareGpu } from '../support/software-gpu.ts';
import { watchWgsl } from '../support/watched-wgsl.ts';

/** Seeds of the cases, so that another range can be tried: `ROCMFORGE_TEST_SEEDS=1000-1100`. */
const [first, behind] = seeds(process.env['ROCMFORGE_TEST_SEEDS']);

function seeds(text: string | undefined): [number | undefined, number | undefined] {
  const [, from, to] = /^(\d+)-(\d+)$/.exec(text ?? '') ?? [];
  if (text !== undefined && to === undefined)
    throw new Error(`ROCMFORGE_TEST_SEEDS is two numbers, not ${text}`);
  return [from === undefined ? undefined : Number(from), to === undefined ? undefined : Number(to)];
}

interface RandomDevice {
  readonly name: string;
  /** Cases of an ordinary run: what takes a quarter of a minute. */
  readonly count: number;
  readonly skip?: string | false | undefined;
  readonly using: (work: (device: Device) => Promise<void>) => Promise<void>;
}

// What they read of workgroup memory they have written.
if (NO_SOFTWARE_GPU === false) await watchWgsl({ poisoned: true });

const opened =
  (open: () => Promise<Device>): RandomDevice['using'] =>
  async (work) => {
    await using device = await open();
    await work(device);
  };

const emulated =
  (target: string): RandomDevice['using'] =>
  async (work) => {
    await using emulator = await Emulator.open(target);
    await withDevice(emulator, work);
  };

const compiler = findCompiler();
const noEmulator = 'reason' in compiler ? compiler.reason : undefined;

const DEVICES: readonly RandomDevice[] = [
  { name: 'CPU', count: 60, using: opened(() => openCpu({ threads: 2 })) },
  { name: 'WebAssembly', count: 40, using: opened(() => openCpu({ threads: 1, cpuKernels: 'wasm' })) },
  { name: 'WebGPU', count: 10, skip: NO_SOFTWARE_GPU, using: opened(openSoftwareGpu) },
  { name: 'WebGPU as for hardware', count: 8, skip: NO_SOFTWARE_GPU, using: opened(openAsHardware) },
  { name: 'WebGPU with matrices', count: 8, skip: NO_SOFTWARE_GPU, using: opened(openWithEmulatedMatrices) },
  { name: 'gfx1100', count: 10, skip: noEmulator, using: emulated('gfx1100') },
  { name: 'gfx942', count: 10, skip: noEmulator, using: emulated('gfx942') },
];

let next = 0;
for (const { name, count, skip, using } of DEVICES) {
  // Each device has seeds of its own, so that a run sees as many cases as it can.
  const from = first ?? next;
  next += count;
  const to = behind ?? next;
  describe(`random cases on ${name}, seeds ${from} to ${to - 1}`, { skip: skip || false }, () => {
    test('compute what the operators mean', async (t) => {
      await using(async (device) => {
        for (let seed = from; seed < to; seed++) {
          const of = randomCase(seed);
          await t.test(of.name, () => checkCase(device, of, {}));
        }
      });
    });
  });
}

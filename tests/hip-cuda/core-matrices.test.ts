import assert from 'node:assert/strict';
import type { HipCudaDevice } from '../../src/devices/hip-cuda/index.ts';
import { f32, i32, type KernelModule, pointer } from '../../src/devices/hip-cuda/launching/launch.ts';
import { type Emulator, emulatedTests, withDevice } from '../support/hip-cuda/emulator.ts';
import { at, bufferOf, type ProbeLaunch, Prober, readInto } from '../support/hip-cuda/probe.ts';

/**
 * The order in which Hopper's asynchronous products read activations. They run on Hopper alone; what writes the order is the same text for all
 * GPUs, and runs here.
 */
const emulated = await emulatedTests('gfx1100');

/** More rows than lie together, and rows that are padded to two chunks. */
const ROWS = 70;
const WIDTH = 160;
const PADDED = 256;
const SLAB_ROWS = 64;
const CAPACITY = 2 * SLAB_ROWS;

/** The place of an element among core matrices of eight rows by eight elements, as `halves.h` says. */
function placeOf(row: number, element: number): number {
  const chunk = Math.floor(element / 128);
  const group = Math.floor((element % 128) / 32);
  const inGroup = element % 32;
  // An octet has four neighbours of each half of a group, in words of the first and third, and of the second and fourth.
  const octet = Math.floor((inGroup % 16) / 4);
  const word = 2 * Math.floor(inGroup / 16) + (inGroup % 2);
  const half = Math.floor(inGroup / 2) % 2;
  const matrix = [Math.floor(row / SLAB_ROWS), chunk, octet, Math.floor((row % SLAB_ROWS) / 8), word];
  const sizes = [CAPACITY / SLAB_ROWS, PADDED / 128, 4, SLAB_ROWS / 8, 4];
  const index = matrix.reduce((sum, own, i) => sum * (sizes[i] as number) + own, 0);
  return 64 * index + 8 * (row % 8) + 2 * group + half;
}

/** Runs a kernel that writes halves. */
async function halvesOf(
  emulator: Emulator,
  module: KernelModule,
  launch: (device: HipCudaDevice, out: ProbeLaunch['args'][number]) => Promise<ProbeLaunch>,
): Promise<Uint16Array> {
  const prober = new Prober(module);
  const halves = new Uint16Array(CAPACITY * PADDED);
  await withDevice(
    emulator,
    async (device) => {
      using out = await bufferOf(device, halves);
      await prober.run(device, [await launch(device, at(out))]);
      await readInto(device, out, halves);
    },
    { kernels: prober.kernels },
  );
  return halves;
}

/** The bits of a whole number below 2048 as f16. */
function halfOf(value: number): number {
  if (value === 0) return 0;
  const exponent = Math.floor(Math.log2(value));
  return ((exponent + 15) << 10) | ((value / 2 ** exponent - 1) * 1024);
}

emulated('rows become core matrices, padded with zeros', async (emulator) => {
  const rows = Float32Array.from({ length: ROWS * WIDTH }, (_, i) => (7 * i) % 2039);
  const defines = { CORE_MATRICES: 1, NORMED: 0, PIECES: 0, THREADS: 64, OWN: 1 };
  const halves = await halvesOf(emulator, { file: 'convert-f16.hip', defines }, async (device, out) => {
    const count = await bufferOf(device, Int32Array.of(ROWS));
    const x = await bufferOf(device, rows);
    const none = pointer(0);
    const args = [at(count), at(x), none, out, i32(WIDTH), i32(1), f32(0), none, i32(0), none];
    return { kernel: 'convert_f16', threads: 64, blocks: ROWS, args };
  });
  for (let row = 0; row < ROWS; row++) {
    for (let element = 0; element < PADDED; element++) {
      const expected = element < WIDTH ? halfOf(rows[row * WIDTH + element] as number) : 0;
      assert.equal(halves[placeOf(row, element)], expected, `element ${element} of row ${row}`);
    }
  }
});

emulated('gates and ups become core matrices', async (emulator) => {
  // With a ReLU, their products are whole numbers.
  const gate = (n: number) => (n % 45) - 3;
  const up = (n: number) => (3 * n) % 47;
  const sums = Float32Array.from({ length: 2 * PADDED }, (_, i) => (i < PADDED ? gate(i) : up(i - PADDED)));
  const RELU = 4;
  const defines = { CORE_MATRICES: 1, OUTPUT: 2, ACTIVATION: RELU, PIECES: 1, HALVES: 0 };
  const halves = await halvesOf(emulator, { file: 'finish-product.hip', defines }, async (device, out) => {
    const count = await bufferOf(device, Int32Array.of(1));
    const x = await bufferOf(device, sums);
    const args = [at(count), at(x), i32(PADDED), i32(0), pointer(0), out];
    return { kernel: 'finish_product', threads: 256, blocks: 1, args };
  });
  for (let n = 0; n < PADDED; n++) {
    assert.equal(halves[placeOf(0, n)], halfOf(Math.max(0, gate(n)) * up(n)), `output ${n}`);
  }
});

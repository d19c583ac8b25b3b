import assert from 'node:assert/strict';
import type { HipCudaDevice } from '../../../src/devices/hip-cuda/index.ts';
import { seededRandom } from '../random.ts';
import { at, bufferOf, type Prober, readInto } from './probe.ts';

/** What the prelude guarantees on any device: a name and its assertion. */
export const PRELUDE_TESTS: readonly (readonly [
  name: string,
  body: (device: HipCudaDevice, prober: Prober) => Promise<void>,
])[] = [
  ['lanes, sums and maxima of 32 lanes', waveFacts],
  ['four-byte dot products', dotProducts],
  ['numbers of eight bits, subnormal ones among them', smallNumbers],
  ['dynamic shared memory', dynamicShared],
  ['atomic sums', atomics],
];

async function waveFacts(device: HipCudaDevice, prober: Prober): Promise<void> {
  const waveSize = 32;
  const threads = 128;
  const [lanes, sums, maxima] = await Promise.all(
    [0, 1, 2].map(() => bufferOf(device, new Uint32Array(threads))),
  );
  assert.ok(lanes && sums && maxima);
  await prober.run(device, [{ kernel: 'wave_facts', threads, args: [at(lanes), at(sums), at(maxima)] }]);
  const lane = Array.from({ length: threads }, (_, i) => i % waveSize);
  assert.deepEqual([...(await readInto(device, lanes, new Uint32Array(threads)))], lane);
  const wave = (i: number) => Math.floor(i / waveSize) * waveSize;
  const sum = lane.map((_, i) => waveSize * wave(i) + (waveSize * (waveSize - 1)) / 2);
  assert.deepEqual([...(await readInto(device, sums, new Float32Array(threads)))], sum);
  const most = lane.map(() => waveSize - 1);
  assert.deepEqual([...(await readInto(device, maxima, new Float32Array(threads)))], most);
}

async function dotProducts(device: HipCudaDevice, prober: Prober): Promise<void> {
  const random = seededRandom(4);
  const bytes = () => Int8Array.from({ length: 256 }, () => Math.floor(random() * 256) - 128);
  const a = bytes();
  const b = bytes();
  const [first, second, out] = [
    await bufferOf(device, a),
    await bufferOf(device, b),
    await bufferOf(device, a),
  ];
  await prober.run(device, [{ kernel: 'dot4_of', args: [at(first), at(second), at(out)] }]);
  const expected = Array.from({ length: 64 }, (_, i) =>
    [0, 1, 2, 3].reduce((sum, k) => sum + (a[4 * i + k] ?? 0) * (b[4 * i + k] ?? 0), 1000),
  );
  assert.deepEqual([...(await readInto(device, out, new Int32Array(64)))], expected);
}

/** As ggml has them (`ggml_e8m0_to_fp32_half`, `ggml_ue4m3_to_fp32`): halves of what is named, without signs, the last E4M3 code zero. */
async function smallNumbers(device: HipCudaDevice, prober: Prober): Promise<void> {
  const [powers, floats] = [
    await bufferOf(device, new Float32Array(256)),
    await bufferOf(device, new Float32Array(256)),
  ];
  await prober.run(device, [{ kernel: 'small_numbers', threads: 256, args: [at(powers), at(floats)] }]);
  const codes = Array.from({ length: 256 }, (_, code) => code);
  assert.deepEqual(
    [...(await readInto(device, powers, new Float32Array(256)))],
    codes.map((code) => 2 ** (code - 128)),
  );
  const e4m3 = (code: number) => {
    const [exponent, mantissa] = [(code >> 3) & 15, code & 7];
    return exponent === 0 ? mantissa * 2 ** -10 : (1 + mantissa / 8) * 2 ** (exponent - 8);
  };
  assert.deepEqual(
    [...(await readInto(device, floats, new Float32Array(256)))],
    codes.map((code) => (code === 0x7f ? 0 : e4m3(code))),
  );
}

async function dynamicShared(device: HipCudaDevice, prober: Prober): Promise<void> {
  const out = await bufferOf(device, new Uint32Array(64));
  await prober.run(device, [{ kernel: 'fill_dynamic', sharedBytes: 256, args: [at(out)] }]);
  const expected = Array.from({ length: 64 }, (_, i) => (63 - i) * 3);
  assert.deepEqual([...(await readInto(device, out, new Uint32Array(64)))], expected);
}

async function atomics(device: HipCudaDevice, prober: Prober): Promise<void> {
  const counter = await bufferOf(device, new Uint32Array(1));
  const sum = await bufferOf(device, new BigUint64Array(1));
  await prober.run(device, [{ kernel: 'count_all', blocks: 10, args: [at(counter), at(sum)] }], 3);
  assert.deepEqual([...(await readInto(device, counter, new Uint32Array(1)))], [1920]);
  assert.deepEqual([...(await readInto(device, sum, new BigUint64Array(1)))], [1920n * 2n ** 33n]);
}

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import type { BlockDecoder, WorkerHandle } from '../../src/device/index.ts';
import { openCpuDecoder } from '../../src/devices/cpu/index.ts';
import { ALL_FORMATS, F16, F32 } from '../../src/formats/index.ts';
import { scalarDecoder } from '../../src/load/async-model-loader.ts';
import { kernelBytes, openDecoder } from '../../src/node/open-cpu.ts';
import { nodeWorkerHost } from '../../src/node/worker-host.ts';
import { seededRandom } from '../support/random.ts';

let decoder: BlockDecoder;
before(async () => {
  decoder = await openDecoder({ threads: 2 });
});
after(() => decoder[Symbol.asyncDispose]());

/** Where blocks and what they become may lie; an odd offset, because chunks do not begin at aligned addresses. */
const MEMORIES: Readonly<
  Record<string, (lengths: readonly [number, number]) => readonly [Uint8Array, Uint8Array]>
> = {
  'memory of one thread': ([source, into]) => [
    new Uint8Array(source),
    new Uint8Array(new ArrayBuffer(into + 3), 3, into),
  ],
  'shared memory': ([source, into]) => [
    new Uint8Array(new SharedArrayBuffer(source)),
    new Uint8Array(new SharedArrayBuffer(into + 3), 3, into),
  ],
  'memory of the decoder': ([source, into]) => {
    assert.ok(decoder.share);
    const { bytes } = decoder.share(into + source + 3);
    return [bytes.subarray(into + 3, into + 3 + source), bytes.subarray(0, into)];
  },
};

for (const become of [F32, F16]) {
  for (const [where, memoryOf] of Object.entries(MEMORIES)) {
    test(`every format becomes ${become.name} bit for bit as its own decoder says, in ${where}`, async () => {
      const works = ALL_FORMATS.map((format) => {
        const blocks = Math.ceil(40_000 / format.blockElements);
        const bytes = blocks * format.blockElements * become.blockBytes;
        const [source, into] = memoryOf([blocks * format.blockBytes, bytes]);
        const own = new Uint8Array(source.byteLength);
        format.fillRandom(own, seededRandom(format.ggmlType), 1);
        source.set(own);
        return { format, source, become, into };
      });
      await Promise.all(
        works.map(async (work) => {
          const wanted = new Uint8Array(work.into.byteLength);
          await scalarDecoder.decode({ ...work, into: wanted });
          await decoder.decode(work);
          assert.equal(Buffer.compare(work.into, wanted), 0, work.format.name);
        }),
      );
    });
  }
}

test('memory of the decoder that was given back is other memory again', async () => {
  assert.ok(decoder.share);
  const block = decoder.share(256);
  const [source, into] = [block.bytes.subarray(128, 192), block.bytes.subarray(0, 128)];
  await decoder.decode({ format: F16, source, become: F32, into });
  block[Symbol.dispose]();
  source.fill(0x3c);
  await decoder.decode({ format: F16, source, become: F32, into });
  assert.equal(new DataView(into.buffer, into.byteOffset).getFloat32(0, true), 1.05859375);
});

test('a decoding thread that dies fails its work, and the next work has a fresh one', async () => {
  const started: WorkerHandle[] = [];
  const real = nodeWorkerHost(new URL('../../src/bin/decode-worker.js', import.meta.url), 1);
  const host = {
    threads: 1,
    start: (name: string) => {
      const worker = real.start(name);
      started.push(worker);
      return worker;
    },
  };
  await using mortal = await openCpuDecoder({ host, kernels: await kernelBytes() });
  const work = { format: F16, source: new Uint8Array(64), become: F32, into: new Uint8Array(128) };
  await mortal.decode(work);
  // What a worker cannot read ends it.
  started[0]?.post({ kind: 'start', kernels: 'none' });
  await assert.rejects(mortal.decode(work), (error) => isRocmforgeError(error, 'DEVICE_LOST'));
  await mortal.decode(work);
  assert.equal(started.length, 2);
});

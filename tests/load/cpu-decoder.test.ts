import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import type { BlockDecoder, WorkerHandle } from '../../src/device/index.ts';
import { openCpuDecoder } from '../../src/devices/cpu/index.ts';
import { ALL_FORMATS, F16, F32 } from '../../src/formats/index.ts';
import { scalarDecoder } from '../../src/load/scalar-decoder.ts';
import { kernelBytes, openDecoder } from '../../src/node/open-cpu.ts';
import { nodeWorkerHost } from '../../src/node/worker-host.ts';
import { seededRandom } from '../support/random.ts';

let decoder: BlockDecoder;
before(async () => {
  decoder = await openDecoder({ threads: 2 });
});
after(() => decoder[Symbol.asyncDispose]());

for (const become of [F32, F16]) {
  test(`every format becomes ${become.name} bit for bit as its own decoder says, in any memory`, async () => {
    const elementBytes = become.blockBytes;
    const works = ALL_FORMATS.map((format) => {
      const blocks = Math.ceil(40_000 / format.blockElements);
      const source = new Uint8Array(blocks * format.blockBytes);
      format.fillRandom(source, seededRandom(format.ggmlType), 1);
      return { format, source, become, bytes: blocks * format.blockElements * elementBytes };
    });
    await Promise.all(
      works.map(async ({ bytes, ...work }, i) => {
        const wanted = new Uint8Array(bytes);
        await scalarDecoder.decode({ ...work, into: wanted });
        // An odd offset: chunks do not begin at aligned addresses.
        const memory = i % 2 === 0 ? new SharedArrayBuffer(bytes + 3) : new ArrayBuffer(bytes + 3);
        const into = new Uint8Array(memory, 3, bytes);
        await decoder.decode({ ...work, into });
        assert.equal(Buffer.compare(into, wanted), 0, work.format.name);
      }),
    );
  });
}

test('a decoding thread that dies fails its work, and the next work has a fresh one', async () => {
  const started: WorkerHandle[] = [];
  const real = nodeWorkerHost(new URL('../../src/node/decode-worker.js', import.meta.url), 1);
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

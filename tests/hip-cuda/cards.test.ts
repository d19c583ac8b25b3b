import assert from 'node:assert/strict';
import { wholeOf } from '../../src/device/index.ts';
import { DeviceGroup } from '../../src/devices/group/index.ts';
import type { HipCudaDevice } from '../../src/devices/hip-cuda/index.ts';
import { i32, pointer } from '../../src/devices/hip-cuda/launching/launch.ts';
import { LanguageModel } from '../../src/engine/language-model.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { reportHipCudaDevices } from '../../src/node/hip-cuda-devices.ts';
import { type Emulator, emulatedTests, STATUS } from '../support/hip-cuda/emulator.ts';
import { at, bufferOf, Prober, readInto } from '../support/hip-cuda/probe.ts';
import { Polynomial } from '../support/hip-cuda/polynomial.ts';
import { SPLIT_ALL } from '../support/rank-devices.ts';
import { tinyModel } from '../support/tiny-model.ts';

/** Several cards of one driver: their memory is apart, and kernels of theirs run at the same time. */
const emulated = await emulatedTests('gfx1100', 3);

async function withCards(
  emulator: Emulator,
  probers: readonly Prober[],
  body: (cards: readonly HipCudaDevice[]) => Promise<void>,
): Promise<void> {
  const cards = probers.map(({ kernels }, card) => emulator.device({ card, kernels }));
  try {
    await body(cards);
  } finally {
    for (const card of cards) await card[Symbol.asyncDispose]();
  }
}

emulated('are listed with their links and access', async ({ library, compilers, control, rccl }) => {
  control.denyPeer(0, 2);
  const places = { driver: [library.file], compiler: compilers.hip, collectives: [rccl] };
  const reports = await reportHipCudaDevices('hip', places);
  for (const { details } of reports) assert.equal(details?.collectives, `RCCL 2.21.5 (${rccl})`);
  const [without] = await reportHipCudaDevices('hip', { ...places, collectives: ['absent.so'] });
  assert.match(String(without?.details?.collectives), /absent\.so was not found/);
  assert.deepEqual(
    reports.map(({ device, details }) => [device, details?.bus, details?.peers]),
    [
      ['hip:0', '0000:00:00.0', 'hip:1 (peer access, XGMI, hops: 1); hip:2 (no peer access, PCIe, hops: 2)'],
      ['hip:1', '0000:01:00.0', 'hip:0 (peer access, XGMI, hops: 1); hip:2 (peer access, XGMI, hops: 1)'],
      ['hip:2', '0000:02:00.0', 'hip:0 (peer access, XGMI, hops: 1); hip:1 (peer access, XGMI, hops: 1)'],
    ],
  );
});

emulated('compute side by side', async (emulator) => {
  await using first = emulator.device();
  await using last = emulator.device({ card: 2 });
  using one = await Polynomial.on(first);
  using other = await Polynomial.on(last);
  const results = await Promise.all([one.compute([1, 2, 3]), other.compute([3, 2, 1])]);
  assert.deepEqual(results, [
    [4, 16, 36],
    [36, 16, 4],
  ]);
});

emulated(
  "a peer's memory is out of reach without peer access, and with it what is shared",
  async (emulator) => {
    const probers = [new Prober(), new Prober()] as const;
    const { calls, results } = emulator.library;
    await withCards(emulator, probers, async ([card, peer]) => {
      assert.ok(card && peer);
      using own = await bufferOf(card, new Float32Array(64));
      using foreign = await bufferOf(peer, new Float32Array(64).fill(7));
      emulator.library.use(1);
      assert.equal(calls.allocateShared(256), 0);
      const shared = results.pointer();
      emulator.library.use(0);
      assert.equal(calls.enablePeer(1), 0);
      assert.equal(calls.enablePeer(1), 704);
      await probers[0].run(card, [{ kernel: 'copy_index', args: [pointer(shared), at(own), i32(0)] }]);
      // Fresh memory, which is not a number.
      assert.ok((await readInto(card, own, new Float32Array(64))).every((value) => Number.isNaN(value)));
      assert.equal(calls.disablePeer(1), 0);
      assert.equal(calls.disablePeer(1), 705);
      emulator.library.use(1);
      assert.equal(calls.free(shared), 0);
      const launch = { kernel: 'copy_index', args: [at(foreign), at(own), i32(0)] };
      await assert.rejects(probers[0].run(card, [launch]), { code: 'DEVICE_LOST' });
      assert.match(emulator.why(0), /was given a pointer that is not the device's/);
      assert.equal(emulator.why(1), '');
    });
  },
);

emulated("what of a peer's memory is not shared faults in a kernel", async (emulator) => {
  const probers = [new Prober(), new Prober()] as const;
  await withCards(emulator, probers, async ([card, peer]) => {
    assert.ok(card && peer);
    using own = await bufferOf(card, new Float32Array(64));
    using foreign = await bufferOf(peer, new Float32Array(64));
    emulator.library.use(0);
    assert.equal(emulator.library.calls.enablePeer(1), 0);
    const launch = { kernel: 'copy_index', args: [at(foreign), at(own), i32(0)] };
    await assert.rejects(probers[0].run(card, [launch]), { code: 'DEVICE_LOST' });
    assert.match(emulator.why(0), /an address outside every live device allocation/);
    emulator.library.use(0);
    assert.equal(emulator.library.calls.disablePeer(1), STATUS.illegalAddress);
    assert.equal(emulator.control.reaches(0, 1), false);
  });
});

emulated('access that the system refuses is refused', async ({ library, control }) => {
  const { calls, results } = library;
  control.denyPeer(0, 1);
  assert.equal(calls.canAccessPeer(0, 1), 0);
  assert.equal(results.int(), 0);
  library.use(0);
  assert.equal(calls.enablePeer(1), 217);
});

emulated('kernels of two cards run at the same time', async (emulator) => {
  const probers = [new Prober(), new Prober()] as const;
  const { calls, results } = emulator.library;
  await withCards(emulator, probers, async (cards) => {
    const own = cards.map((card, rank) => {
      emulator.library.use(rank);
      assert.equal(calls.enablePeer(1 - rank), 0);
      assert.equal(calls.allocateShared(1024), 0);
      return { card, address: results.pointer() };
    });
    try {
      await Promise.all(
        own.map(({ card, address }, rank) => {
          const args = [pointer(address), pointer(own[1 - rank]?.address ?? 0)];
          return (probers[rank] ?? assert.fail()).run(card, [{ kernel: 'meet', args }]);
        }),
      );
    } finally {
      for (const [rank, { address }] of own.entries()) {
        emulator.library.use(rank);
        assert.equal(calls.disablePeer(1 - rank), 0);
        assert.equal(calls.free(address), 0);
      }
    }
  });
});

emulated('a lost card does not take the others with it', async (emulator) => {
  await using lost = emulator.device();
  await using other = emulator.device({ card: 1 });
  using polynomial = await Polynomial.on(other);
  using buffer = lost.createBuffer(1024, 'buffer');
  await using stream = lost.createStream('stream');
  emulator.control.lose(STATUS.launchFailure, 0);
  stream.upload(new Uint8Array(1024), wholeOf(buffer));
  await assert.rejects(stream.synchronize(), { code: 'DEVICE_LOST' });
  assert.deepEqual(await polynomial.compute([1, 2, 3]), [4, 16, 36]);
});

emulated('have dequantized copies of their own parts, as a group', async (emulator) => {
  const said = async (dequantized: boolean) => {
    const cards = [0, 1].map((card) => emulator.device({ card, blas: true }));
    await using device = new DeviceGroup(cards, SPLIT_ALL);
    const parts = { gguf: await tinyModel('Q8_0'), device, architectures: ALL_ARCHITECTURES };
    const options = { context: 128, batch: 128, deterministic: true, dequantized } as const;
    await using model = await LanguageModel.open(parts, options);
    assert.equal(model.fit.dequantized > 0, dequantized);
    return await model.generate([1, 40, 41, 42], { temperature: 0, maxTokens: 2, ignoreEnd: true }).text();
  };
  assert.equal(await said(true), await said(false));
});

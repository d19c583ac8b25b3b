import assert from 'node:assert/strict';
import { checkCollective } from '../support/contract/collectives.ts';
import { type Emulator, emulatedTests, STATUS } from '../support/hip-cuda/emulator.ts';
import {
  FEW_SLOTS,
  LINK_TESTS,
  type OpenCard,
  SMALL_CASE,
  withLinked,
} from '../support/hip-cuda/link-tests.ts';

/** What ranks on several emulated cards compute with one another, and what happens when one of them does not. */
const CARDS = 3;
const emulated = await emulatedTests('gfx1100', CARDS);

function cardsOf(emulator: Emulator): OpenCard {
  return (card) => emulator.device({ card });
}

for (const [name, ranks, body] of LINK_TESTS) {
  if (ranks <= CARDS) emulated(name, (emulator) => body(cardsOf(emulator), ranks));
}

emulated('access lasts as long as the link', async (emulator) => {
  const { control } = emulator;
  await withLinked(cardsOf(emulator), 2, async ([first, second], link) => {
    assert.deepEqual(
      [control.reaches(0, 1), control.reaches(1, 0), control.reaches(0, 2)],
      [true, true, false],
    );
    await link[Symbol.asyncDispose]();
    assert.deepEqual([control.reaches(0, 1), control.reaches(1, 0)], [false, false]);
    assert.ok(first && second);
    await assert.rejects(checkCollective([first, second], SMALL_CASE), { code: 'OP_UNSUPPORTED' });
  });
});

emulated('devices that cannot be linked are not', async (emulator) => {
  emulator.control.denyPeer(1, 0);
  await using first = emulator.device();
  await using second = emulator.device({ card: 1 });
  await using again = emulator.device();
  assert.equal(await first.linkPeers([first, second]), undefined);
  assert.equal(await first.linkPeers([first, again]), undefined);
  assert.equal(await first.linkPeers([first]), undefined);
});

emulated('a rank that dies in the middle takes the others along, which do not hang', async (emulator) => {
  for (const nth of [1, 2, 3]) {
    emulator.control.reset();
    await withLinked(cardsOf(emulator), 3, async (devices) => {
      emulator.control.failCall('kernel', nth, STATUS.illegalAddress);
      await assert.rejects(checkCollective(devices, SMALL_CASE), { code: 'DEVICE_LOST' });
      for (const device of devices) assert.ok((await device.lost) instanceof Error);
    });
    assert.deepEqual(emulator.live(), {});
  }
});

emulated(
  'every call of linking may fail on every rank: a typed error, and nothing stays behind',
  async (emulator) => {
    const { control } = emulator;
    const calls = [
      ['hipExtMallocWithFlags', 'OUT_OF_MEMORY', STATUS.outOfMemory],
      ['hipMemsetAsync', 'DRIVER_CALL', STATUS.invalidHandle],
      ['hipDeviceCanAccessPeer', 'DRIVER_CALL', STATUS.invalidHandle],
      ['hipDeviceEnablePeerAccess', 'DRIVER_CALL', STATUS.invalidHandle],
    ] as const;
    const devices = [0, 1, 2].map((card) => emulator.device({ card }));
    const first = devices[0] ?? assert.fail('there are devices');
    try {
      for (const [call, code, status] of calls) {
        control.reset();
        await (await first.linkPeers(devices, FEW_SLOTS))?.[Symbol.asyncDispose]();
        const count = control.calls(call);
        assert.ok(count >= devices.length, call);
        for (let nth = 1; nth <= count; nth++) {
          control.reset();
          const before = emulator.live();
          control.failCall(call, nth, status);
          await assert.rejects(first.linkPeers(devices, FEW_SLOTS), { code }, `${call} ${nth}`);
          assert.deepEqual(emulator.live(), before, `after ${call} ${nth}`);
          assert.equal(control.reaches(0, 1) || control.reaches(1, 2), false);
        }
      }
      control.reset();
      control.failCall('hipHostMalloc', 1, STATUS.outOfMemory);
      assert.equal(await first.linkPeers(devices), undefined);
      await using _ = await first.linkPeers(devices, FEW_SLOTS);
      await checkCollective(devices, SMALL_CASE);
    } finally {
      for (const device of devices) await device[Symbol.asyncDispose]();
    }
  },
);

emulated('a step that cannot be launched on one rank does not leave the others waiting', async (emulator) => {
  for (const nth of [1, 2, 3]) {
    emulator.control.reset();
    await withLinked(cardsOf(emulator), 3, async (devices) => {
      emulator.control.failCall('hipGraphLaunch', nth, STATUS.invalidHandle);
      await assert.rejects(checkCollective(devices, SMALL_CASE), { name: 'RocmforgeError' });
      for (const device of devices) assert.match((await device.lost).message, /a rank of its group failed/);
    });
    assert.deepEqual(emulator.live(), {});
  }
});

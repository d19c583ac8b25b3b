import assert from 'node:assert/strict';
import type { PeerLink } from '../../src/device/index.ts';
import type { HipCudaDevice, PeerLinkOptions } from '../../src/devices/hip-cuda/index.ts';
import {
  checkCollective,
  COLLECTIVE_CASES,
  type CollectiveCase,
  rankCases,
} from '../support/contract/collectives.ts';
import type { CaseData } from '../support/contract/case-data.ts';
import { runCase } from '../support/contract/run-case.ts';
import { type Emulator, emulatedTests, STATUS } from '../support/hip-cuda/emulator.ts';

/** What ranks on several emulated cards compute with one another, and what happens when one of them does not. */
const emulated = await emulatedTests('gfx1100', 3);

/** Few slots, so that larger tensors take several passes. */
const FEW_SLOTS = 700;

async function linked(
  emulator: Emulator,
  ranks: number,
  body: (devices: readonly HipCudaDevice[], link: PeerLink) => Promise<void>,
  options: PeerLinkOptions = { slots: FEW_SLOTS },
): Promise<void> {
  const devices: HipCudaDevice[] = [];
  try {
    for (let card = 0; card < ranks; card++) devices.push(emulator.device({ card }));
    using link = (await devices[0]?.linkPeers(devices, options)) ?? assert.fail('the cards have peer access');
    await body(devices, link);
  } finally {
    for (const device of devices) await device[Symbol.asyncDispose]();
  }
}

for (const ranks of [2, 3]) {
  emulated(`collectives of ${ranks} ranks`, (emulator) =>
    linked(emulator, ranks, async (devices) => {
      for (const of of COLLECTIVE_CASES) await checkCollective(devices, of);
    }),
  );
}

const [, SMALL] = COLLECTIVE_CASES as readonly [CollectiveCase, CollectiveCase];

emulated('access lasts as long as the link', async (emulator) => {
  const { control } = emulator;
  await linked(emulator, 2, async ([first, second], link) => {
    assert.deepEqual(
      [control.reaches(0, 1), control.reaches(1, 0), control.reaches(0, 2)],
      [true, true, false],
    );
    link[Symbol.dispose]();
    assert.deepEqual([control.reaches(0, 1), control.reaches(1, 0)], [false, false]);
    assert.ok(first && second);
    await assert.rejects(checkCollective([first, second], SMALL), { code: 'OP_UNSUPPORTED' });
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

/** Runs a case on rank 0 only, which waits for the others in vain. */
async function runAlone([device, ...others]: readonly HipCudaDevice[]): Promise<unknown> {
  assert.ok(device);
  const [data] = rankCases(SMALL, 1 + others.length) as readonly [CaseData];
  return await runCase(device, data);
}

emulated('a rank that waits in vain gives up, and all devices are lost', (emulator) =>
  linked(
    emulator,
    2,
    async (devices) => {
      const lost = { code: 'DEVICE_LOST', message: /rank 0 gave up waiting for the others/ };
      await assert.rejects(runAlone(devices), lost);
      for (const device of devices) assert.match((await device.lost).message, lost.message);
    },
    { slots: FEW_SLOTS, patience: 3 },
  ),
);

emulated('an aborted link ends what waits', (emulator) =>
  linked(emulator, 2, async (devices, link) => {
    const running = runAlone(devices);
    setTimeout(() => link.abort(new Error('a test aborts')), 20);
    await assert.rejects(running, {
      code: 'DEVICE_LOST',
      message: /a rank of its group failed: a test aborts/,
    });
  }),
);

emulated('a rank that dies in the middle takes the others along, which do not hang', async (emulator) => {
  for (const nth of [1, 2, 3]) {
    emulator.control.reset();
    await linked(emulator, 3, async (devices) => {
      emulator.control.failCall('kernel', nth, STATUS.illegalAddress);
      await assert.rejects(checkCollective(devices, SMALL), { code: 'DEVICE_LOST' });
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
        (await first.linkPeers(devices, { slots: FEW_SLOTS }))?.[Symbol.dispose]();
        const count = control.calls(call);
        assert.ok(count >= devices.length, call);
        for (let nth = 1; nth <= count; nth++) {
          control.reset();
          const before = emulator.live();
          control.failCall(call, nth, status);
          await assert.rejects(first.linkPeers(devices, { slots: FEW_SLOTS }), { code }, `${call} ${nth}`);
          assert.deepEqual(emulator.live(), before, `after ${call} ${nth}`);
          assert.equal(control.reaches(0, 1) || control.reaches(1, 2), false);
        }
      }
      control.reset();
      control.failCall('hipHostMalloc', 1, STATUS.outOfMemory);
      assert.equal(await first.linkPeers(devices), undefined);
      using _ = await first.linkPeers(devices, { slots: FEW_SLOTS });
      await checkCollective(devices, SMALL);
    } finally {
      for (const device of devices) await device[Symbol.asyncDispose]();
    }
  },
);

emulated('a step that cannot be launched on one rank does not leave the others waiting', async (emulator) => {
  for (const nth of [1, 2, 3]) {
    emulator.control.reset();
    await linked(emulator, 3, async (devices) => {
      emulator.control.failCall('hipGraphLaunch', nth, STATUS.invalidHandle);
      await assert.rejects(checkCollective(devices, SMALL), { name: 'RocmforgeError' });
      for (const device of devices) assert.match((await device.lost).message, /a rank of its group failed/);
    });
    assert.deepEqual(emulator.live(), {});
  }
});

import assert from 'node:assert/strict';
import { type Logger, silentLogger } from '../../src/base/log.ts';
import type { Device } from '../../src/device/index.ts';
import { type HipCudaDevice, hipNccl, NcclLibrary } from '../../src/devices/hip-cuda/index.ts';
import { openReferenceDevice } from '../../src/devices/reference/index.ts';
import { scale } from '../../src/ops/index.ts';
import { changed } from '../support/changed.ts';
import { type CaseData, caseData } from '../support/contract/case-data.ts';
import {
  checkCollective,
  checkPartialProduct,
  COLLECTIVE_CASES,
  PARTIAL_PRODUCTS,
  rankCases,
} from '../support/contract/collectives.ts';
import { plainBatch } from '../support/contract/ragged-batch.ts';
import { runCase } from '../support/contract/run-case.ts';
import { type Emulator, emulatedTests, STATUS } from '../support/hip-cuda/emulator.ts';
import { type OpenCard, SMALL_CASE, withLinked } from '../support/hip-cuda/link-tests.ts';

/** Ranks that have no access to one another's memory: RCCL computes what they have in common, inside their captured steps. */
const CARDS = 3;
const emulated = await emulatedTests('gfx1100', CARDS);
const BY_LIBRARY = { link: 'nccl' } as const;

/** `ncclInProgress`. */
const IN_PROGRESS = 7;

/** A concatenation of few numbers. */
const GATHER_CASE =
  COLLECTIVE_CASES.find(({ of }) => of(0, 2).op === 'allGather') ?? assert.fail('there is one');

/** Cards without access to one another. */
function apart(
  emulator: Emulator,
  { rccl = true, logger = silentLogger }: { rccl?: boolean; logger?: Logger } = {},
): OpenCard {
  for (let card = 0; card < CARDS; card++) {
    for (let peer = 0; peer < CARDS; peer++) emulator.control.denyPeer(card, peer);
  }
  return (card) => emulator.device({ card, rccl, logger });
}

/** A logger that keeps the messages about links. */
function linkLog(): { readonly logger: Logger; readonly lines: string[] } {
  const lines: string[] = [];
  const keep = (message: string, fields: object = {}) => {
    if (message.includes('linked')) lines.push(`${message}: ${JSON.stringify(fields)}`);
  };
  return { logger: { ...silentLogger, enabled: () => true, debug: keep, info: keep }, lines };
}

for (const ranks of [2, 3]) {
  emulated(`collectives of ${ranks} ranks`, async (emulator) => {
    const { logger, lines } = linkLog();
    await withLinked(apart(emulator, { logger }), ranks, async (devices) => {
      for (const of of COLLECTIVE_CASES) await checkCollective(devices, of);
    });
    assert.match(lines.join('\n'), /^devices are linked: .*"by":"RCCL 2\.21\.5 \(.*librccl\.so\.1\)"/);
    assert.ok(emulator.control.calls('ncclAllReduce') > 0 && emulator.control.calls('ncclSend') > 0);
    assert.equal(emulator.control.calls('hipDeviceEnablePeerAccess'), 0);
  });
}

emulated('products in parts', async (emulator) => {
  await withLinked(apart(emulator), 2, async (devices) => {
    for (const of of PARTIAL_PRODUCTS) await checkPartialProduct(devices, of);
  });
});

emulated(
  'kernels are linked where they can be, and the library only where it is asked for',
  async (emulator) => {
    const { logger, lines } = linkLog();
    const open: OpenCard = (card) => emulator.device({ card, rccl: true, logger });
    await withLinked(open, 2, (devices) => checkCollective(devices, SMALL_CASE));
    assert.equal(emulator.control.calls('ncclCommInitRankConfig'), 0);
    await withLinked(open, 2, (devices) => checkCollective(devices, SMALL_CASE), BY_LIBRARY);
    assert.equal(emulator.control.calls('ncclCommInitRankConfig'), 2);
    assert.deepEqual(
      lines.map((line) => /"by":"(\w+)/.exec(line)?.[1]),
      ['peer', 'RCCL'],
    );
  },
);

emulated('without the library there is no link, or an error if it was asked for', async (emulator) => {
  const { logger, lines } = linkLog();
  const open = apart(emulator, { rccl: false, logger });
  await using first = open(0);
  await using second = open(1);
  const devices = [first, second];
  assert.equal(await first.linkPeers(devices), undefined);
  assert.match(lines.join('\n'), /hip:0 has no access to the memory of hip:1.*was not found/);
  for (const [link, why] of [
    ['nccl', /absent\.so was not found.*Install RCCL \(Debian, Ubuntu: apt install rccl\)/],
    ['peer', /hip:0 has no access to the memory of hip:1/],
  ] as const) {
    await assert.rejects(first.linkPeers(devices, { link }), { code: 'DEVICE_UNAVAILABLE', message: why });
  }
  assert.equal(await first.linkPeers(devices, { link: 'host' }), undefined);
  const unknown = 'nvlink' as 'peer';
  await assert.rejects(first.linkPeers(devices, { link: unknown }), {
    code: 'INVALID_ARGUMENT',
    message: /link: found nvlink, expected auto, peer, nccl, host/,
  });
  assert.throws(() => new NcclLibrary(emulator.platform.ffi, hipNccl, []), {
    code: 'DEVICE_UNAVAILABLE',
    message: /RCCL is not available: there is none for this system, only for Linux/,
  });
});

emulated('a release that is too old is refused', async (emulator) => {
  emulator.control.pretendRelease(21_706);
  try {
    await assert.rejects(
      withLinked(apart(emulator), 2, () => assert.fail('they are not linked'), BY_LIBRARY),
      {
        code: 'DEVICE_UNAVAILABLE',
        message: /RCCL 2\.17\.6 \(.*\) is too old: 2\.18\.0 is needed\. Install RCCL/,
      },
    );
  } finally {
    emulator.control.pretendRelease(0);
  }
});

emulated('a rank that dies takes the others along, which do not hang', async (emulator) => {
  for (const nth of [1, 2, 3]) {
    emulator.control.reset();
    await withLinked(apart(emulator), CARDS, async (devices) => {
      emulator.control.failCall('kernel', nth, STATUS.illegalAddress);
      await assert.rejects(checkCollective(devices, SMALL_CASE), { code: 'DEVICE_LOST' });
      for (const device of devices) assert.ok((await device.lost) instanceof Error);
    });
    assert.deepEqual([emulator.live(), emulator.control.communicators()], [{}, 0]);
  }
});

const REMOTE = { code: 'DEVICE_LOST', message: /remote process exited or there was a network error/ };

emulated("an error that a communicator finds loses all ranks' devices", async (emulator) => {
  await withLinked(apart(emulator), 2, async (devices) => {
    await checkCollective(devices, SMALL_CASE);
    emulator.control.failCommunicator(1, 6);
    // While it is recorded, or while something before that is waited for.
    await assert.rejects(checkCollective(devices, SMALL_CASE), { message: REMOTE.message });
    for (const device of devices) assert.match((await device.lost).message, REMOTE.message);
  });
  await withLinked(apart(emulator), 2, async (devices) => {
    const [first] = devices as [HipCudaDevice, HipCudaDevice];
    await using stream = first.createStream('waits');
    emulator.control.failCommunicator(1, 6);
    await assert.rejects(stream.synchronize(), REMOTE);
    for (const device of devices) assert.match((await device.lost).message, REMOTE.message);
  });
});

emulated('an aborted link rejects a step that not all ranks have brought', async (emulator) => {
  await withLinked(apart(emulator), 2, async (devices, link) => {
    const alone = checkCollective([devices[0] ?? assert.fail(), devices[1] ?? assert.fail()], SMALL_CASE);
    link.abort(new Error('a test aborts'));
    await assert.rejects(alone, {
      code: 'DEVICE_LOST',
      message: /a rank of its group failed: a test aborts/,
    });
  });
});

emulated('a device may be disposed before steps of the others', async (emulator) => {
  const { control } = emulator;
  const open = apart(emulator);
  const [first, second] = [open(0), open(1)] as const;
  await first.linkPeers([first, second]);
  const [ofFirst, ofSecond] = rankCases(SMALL_CASE, 2) as readonly [CaseData, CaseData];
  let goOn: () => void = () => {};
  const mayGoOn = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const left = runCase(second, ofSecond, 'whole', { before: () => mayGoOn });
  const stopped = new Error('a test stops');
  const stop = () => Promise.reject(stopped);
  await assert.rejects(runCase(first, ofFirst, 'whole', { before: stop }), stopped);
  await first[Symbol.asyncDispose]();
  assert.ok(control.communicators() > 0, 'the library waits for the step that is left');
  goOn();
  await assert.rejects(left, { code: 'DEVICE_LOST', message: /was disposed before its steps/ });
  await second[Symbol.asyncDispose]();
  assert.equal(control.communicators(), 0);
});

emulated('communicators that do not answer are not waited for for ever', async (emulator) => {
  const why = /communicators did not answer one another within 1 s/;
  const options = { ...BY_LIBRARY, seconds: 1 };
  await withLinked(
    apart(emulator),
    2,
    async (devices) => {
      emulator.control.failCommunicator(1, IN_PROGRESS);
      await assert.rejects(checkCollective(devices, SMALL_CASE), { message: why });
      for (const device of devices) assert.match((await device.lost).message, why);
    },
    options,
  );
  await withLinked(
    apart(emulator),
    2,
    async (devices) => {
      await checkCollective(devices, SMALL_CASE);
      emulator.control.failCommunicator(1, IN_PROGRESS);
    },
    options,
  );
});

emulated('a device is linked once, and not after its end', async (emulator) => {
  const open = apart(emulator);
  const devices = [open(0), open(1)] as const;
  const [first, second] = devices;
  const linking = first.linkPeers(devices, BY_LIBRARY);
  await assert.rejects(first.linkPeers(devices, BY_LIBRARY), /a device is linked once/);
  const ended = second[Symbol.asyncDispose]();
  await assert.rejects(linking, { code: 'DISPOSED' });
  await ended;
  await first[Symbol.asyncDispose]();
});

emulated('a linked device does not record what is of another backend', async (emulator) => {
  const data = caseData({
    op: 'scale',
    name: 'twice',
    batch: plainBatch(1),
    record: (g) => ({ y: scale(g, g.input('x', { axis: 'rows', width: 8 }), 2) }),
  });
  await withLinked(apart(emulator), 2, async ([first]) => {
    await using reference = openReferenceDevice();
    const record: Device['record'] = (executables, label) =>
      (first ?? assert.fail()).record(executables, label);
    await assert.rejects(runCase(changed<Device>(reference, { record }), data), { code: 'BINDING' });
  });
});

emulated('every call of the library may fail: a typed error, and nothing stays behind', async (emulator) => {
  const { control } = emulator;
  const open = apart(emulator);
  const linking = [
    'ncclGetUniqueId',
    'ncclGroupStart',
    'ncclCommInitRankConfig',
    'ncclGroupEnd',
    'ncclCommGetAsyncError',
    'ncclGetVersion',
  ];
  for (const call of linking) {
    for (let nth = 1; nth <= 3; nth++) {
      control.reset();
      const open = apart(emulator);
      const devices = [0, 1, 2].map((card) => open(card));
      const before = emulator.live();
      control.failCall(call, nth, STATUS.launchFailure);
      const [first] = devices as [(typeof devices)[0]];
      const calls = control.calls(call);
      const linked = await first.linkPeers(devices, BY_LIBRARY).catch((error: unknown) => error);
      if (control.calls(call) - calls < nth) await (linked as AsyncDisposable)[Symbol.asyncDispose]();
      else assert.equal((linked as { code?: string }).code, 'DEVICE_UNAVAILABLE', `${call} ${nth}`);
      assert.deepEqual(emulator.live(), before, `after ${call} ${nth}`);
      assert.equal(control.communicators(), 0, `after ${call} ${nth}`);
      for (const device of devices) await device[Symbol.asyncDispose]();
    }
  }
  const recording = [
    ['ncclGroupStart', SMALL_CASE],
    ['ncclAllReduce', SMALL_CASE],
    ['ncclSend', GATHER_CASE],
    ['ncclRecv', GATHER_CASE],
    ['ncclGroupEnd', SMALL_CASE],
    ['ncclCommGetAsyncError', SMALL_CASE],
    ['hipStreamBeginCapture', SMALL_CASE],
  ] as const;
  for (const [call, of] of recording) {
    control.reset();
    apart(emulator);
    await withLinked(open, 2, async (devices) => {
      control.failCall(call, 1, STATUS.launchFailure);
      await assert.rejects(checkCollective(devices, of), { name: 'RocmforgeError' }, call);
    });
    assert.deepEqual([emulator.live(), control.communicators()], [{}, 0], call);
  }
  for (const call of ['ncclCommFinalize', 'ncclCommDestroy']) {
    control.reset();
    apart(emulator);
    await withLinked(open, 2, async (devices) => {
      await checkCollective(devices, SMALL_CASE);
      control.failCall(call, 2, STATUS.launchFailure);
    });
    assert.deepEqual([emulator.live(), control.communicators()], [{}, 0], call);
  }
});

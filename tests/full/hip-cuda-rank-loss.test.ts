import type { Device, Step, Stream } from '../../src/device/index.ts';
import { DeviceGroup } from '../../src/devices/group/index.ts';
import type { HipCudaDevice } from '../../src/devices/hip-cuda/index.ts';
import { changed } from '../support/changed.ts';
import { LOSS_CASES, MANY_TEXTS_CASE, type MortalDevice } from '../support/device-loss.ts';
import { type Emulator, emulatedTests, STATUS } from '../support/hip-cuda/emulator.ts';
import { SPLIT_ALL } from '../support/rank-devices.ts';

/** Groups of emulated cards of which one is lost, or computes no more. */
const RANKS = 2;
const emulated = await emulatedTests('gfx1100', RANKS);

/** Looks of a kernel at the abort word before it gives up: fewer than of a real one, which polls faster, but seconds on a busy machine. */
const PATIENCE = 400;

function cardsOf(emulator: Emulator, rccl = false): readonly HipCudaDevice[] {
  // The driver resets cards once nobody holds them any more.
  emulator.control.reset();
  return Array.from({ length: RANKS }, (_, card) => emulator.device({ card, rccl }));
}

/** A group that is lost because one of its cards is. */
function losing(emulator: Emulator, card: number, link: 'peer' | 'nccl' = 'peer'): MortalDevice {
  return {
    device: new DeviceGroup(cardsOf(emulator, link === 'nccl'), { ...SPLIT_ALL, link }),
    lose: () => emulator.control.lose(STATUS.launchFailure, card),
  };
}

/** A group that is lost because a card hangs: its steps do nothing, and the others wait for it in vain. */
function hanging(emulator: Emulator): MortalDevice {
  const [first, last] = cardsOf(emulator) as [HipCudaDevice, HipCudaDevice];
  let hangs = false;
  const run = (stream: Stream, step: Step) => {
    if (!hangs) stream.run(step);
  };
  const group = [
    changed<Device>(first, { linkPeers: () => first.linkPeers([first, last], { patience: PATIENCE }) }),
    changed<Device>(last, {
      createStream: (label) => {
        const stream = last.createStream(label);
        return changed<Stream>(stream, { run: (step) => run(stream, step) });
      },
    }),
  ];
  return {
    device: new DeviceGroup(group, SPLIT_ALL),
    lose: () => {
      hangs = true;
    },
  };
}

for (const { name, run } of [...LOSS_CASES.filter(({ anyBatch }) => !anyBatch), MANY_TEXTS_CASE]) {
  for (let card = 0; card < RANKS; card++) {
    emulated(`card ${card} is lost: ${name}`, (emulator) => run(async () => losing(emulator, card)));
  }
}

for (const { name, run } of [...LOSS_CASES.filter(({ anyBatch }) => !anyBatch), MANY_TEXTS_CASE]) {
  emulated(`a card that RCCL links is lost: ${name}`, (emulator) =>
    run(async () => losing(emulator, 1, 'nccl')),
  );
}

emulated(`a card hangs: ${MANY_TEXTS_CASE.name}`, (emulator) =>
  MANY_TEXTS_CASE.run(async () => hanging(emulator)),
);

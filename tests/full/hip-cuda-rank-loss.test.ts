import { DeviceGroup } from '../../src/devices/group/index.ts';
import type { HipCudaDevice } from '../../src/devices/hip-cuda/index.ts';
import { LOSS_CASES, MANY_TEXTS_CASE, type MortalDevice } from '../support/device-loss.ts';
import { type Emulator, emulatedTests, STATUS } from '../support/hip-cuda/emulator.ts';
import { hangingGroup } from '../support/hip-cuda/hanging-group.ts';
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

/** A group of which the last card hangs. */
function hanging(emulator: Emulator): MortalDevice {
  return hangingGroup(cardsOf(emulator), { patience: PATIENCE });
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

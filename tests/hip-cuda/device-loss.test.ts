import { DevicePipeline } from '../../src/devices/group/index.ts';
import { openCpu } from '../../src/node/open-cpu.ts';
import { FAULT_CASE, LOSS_CASES } from '../support/device-loss.ts';
import { emulatedTests, STATUS } from '../support/hip-cuda/emulator.ts';
import { servedPair } from '../support/remote-pair.ts';

const emulated = await emulatedTests('gfx1100');

for (const { name, run } of LOSS_CASES.filter(({ anyBatch }) => !anyBatch)) {
  emulated(name, (emulator) =>
    run(async () => {
      // The driver resets the card once nobody holds it any more.
      emulator.control.reset();
      return { device: emulator.device(), lose: () => emulator.control.lose(STATUS.launchFailure) };
    }),
  );
}

for (const { name, run } of LOSS_CASES.slice(0, 1)) {
  emulated(`beside the CPU, ${name}`, (emulator) =>
    run(async () => {
      emulator.control.reset();
      const cpu = await openCpu({ threads: 1, cpuKernels: 'wasm' });
      return {
        device: new DevicePipeline([cpu, emulator.device()]),
        lose: () => emulator.control.lose(STATUS.launchFailure),
      };
    }),
  );
}

for (const { name, run } of LOSS_CASES.slice(0, 1)) {
  emulated(`of another process beside the CPU, ${name}`, async (emulator) => {
    // The other side ends behind this one.
    const ends: Promise<void>[] = [];
    await run(async () => {
      emulator.control.reset();
      const gpu = emulator.device();
      const { remote, serving } = await servedPair(gpu);
      ends.push(serving.then(() => gpu[Symbol.asyncDispose]()));
      const cpu = await openCpu({ threads: 1, cpuKernels: 'wasm' });
      return {
        device: new DevicePipeline([remote, cpu]),
        lose: () => emulator.control.lose(STATUS.launchFailure),
      };
    });
    await Promise.all(ends);
  });
}

emulated(FAULT_CASE.name, (emulator) =>
  FAULT_CASE.run(async () => ({
    device: emulator.device(),
    lose: () => emulator.control.lose(STATUS.illegalAddress),
  })),
);

import { readFileSync } from 'node:fs';
import { openCpuDevice } from '../../src/devices/cpu/index.ts';
import { nodeWorkerHost } from '../../src/node/worker-host.ts';
import type { MortalDevice } from './device-loss.ts';

const SOURCE = new URL('../../src/', import.meta.url);

/** A CPU device that, on a test's command, is told that one of its workers died. */
export async function openMortalCpu(): Promise<MortalDevice> {
  const listeners: ((error: Error) => void)[] = [];
  const host = nodeWorkerHost(new URL('bin/cpu-worker.js', SOURCE), 2);
  const start = (name: string) => {
    const worker = host.start(name);
    worker.onFailure = (listener) => listeners.push(listener);
    return worker;
  };
  const kernels = (variant: string) => readFileSync(new URL(`devices/cpu/kernels.${variant}.wasm`, SOURCE));
  const device = await openCpuDevice({
    host: { threads: 2, start },
    kernels: { relaxed: kernels('relaxed'), baseline: kernels('baseline') },
  });
  const lose = () => {
    for (const listener of listeners) listener(new Error('a worker died'));
  };
  return { device, lose };
}

import { fail } from '../base/errors.ts';
import { silentLogger } from '../base/log.ts';
import type { WorkerHandle } from '../device/index.ts';
import { Replicas } from '../engine/remote/replicas.ts';
import type { ThreadEngine } from '../engine/remote/thread-engine.ts';
import type { LoadProgress } from '../load/load-progress.ts';
import { usableCores } from './cpu-threads.ts';
import { replicaDevice } from './devices.ts';
import { engineThread } from './engine-thread.ts';
import { openEngine, type WorkerModelOptions } from './open-engine.ts';

/** What replicas are opened with, and how many there are. */
interface ReplicaOptions extends Omit<WorkerModelOptions, 'tensorParallel'> {
  readonly replicas: number;
  /** Of each replica. */
  readonly tensorParallel?: number | undefined;
}

/**
 * Opens the replicas of a model, each on a thread that `start` starts. Where the device is chosen automatically, the others take the
 * first one's kind. Rejects as `loadModelInWorker`.
 */
export function openReplicas(
  location: string,
  options: ReplicaOptions,
  start: () => WorkerHandle = engineThread,
): Promise<Replicas> {
  const { replicas, device, tensorParallel = 1, pipelineParallel = 1, workers } = options;
  if (workers !== undefined) {
    fail('INVALID_ARGUMENT', { name: 'workers', found: `${replicas} replicas`, expected: 'one replica' });
  }
  const { signal: given, logger = silentLogger } = options;
  const threads = options.threads ?? Math.max(1, Math.floor(usableCores() / replicas));
  const progressOf = progressOfAll(replicas, options.onProgress);
  let first: Promise<ThreadEngine> | undefined;
  const deviceOf = async (replica: number): Promise<string | undefined> => {
    const behind = replica * tensorParallel * pipelineParallel;
    if (device !== undefined && device !== 'auto') return replicaDevice(device, behind);
    return first && replicaDevice((await first).device.backend, behind);
  };
  const opened = new Set<number>();
  return Replicas.open(
    replicas,
    (replica, { signal: ending, onBlocks }) => {
      const isFirstTime = !opened.has(replica);
      opened.add(replica);
      const engine = deviceOf(replica).then((own) => {
        const signal = given && isFirstTime ? AbortSignal.any([given, ending]) : ending;
        const how = { ...options, device: own, threads, signal, onBlocks, onProgress: progressOf(replica) };
        return openEngine(start(), location, how);
      });
      first ??= engine;
      return engine;
    },
    logger,
  );
}

/** Reports the progress of all together, whenever one of them reports. */
function progressOfAll(
  replicas: number,
  report: ((progress: LoadProgress) => void) | undefined,
): (replica: number) => (progress: LoadProgress) => void {
  const latest = new Map<number, LoadProgress>();
  return (replica) => (progress) => {
    latest.set(replica, progress);
    const all = [...latest.values()];
    const sum = (of: (progress: LoadProgress) => number) => all.reduce((total, one) => total + of(one), 0);
    const isReady = all.length === replicas && all.every(({ phase }) => phase === 'ready');
    const stillReads = all.length < replicas || all.some(({ phase }) => phase === 'reading');
    report?.({
      ...progress,
      phase: isReady ? 'ready' : stillReads ? 'reading' : 'finishing',
      bytes: sum(({ bytes }) => bytes),
      totalBytes: replicas * progress.totalBytes,
      tensors: sum(({ tensors }) => tensors),
      totalTensors: replicas * progress.totalTensors,
      gigabytesPerSecond: sum(({ gigabytesPerSecond }) => gigabytesPerSecond),
      secondsLeft: Math.max(...all.map(({ secondsLeft }) => secondsLeft)),
    });
  };
}

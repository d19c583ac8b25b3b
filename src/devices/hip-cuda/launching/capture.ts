import { invariant } from '../../../base/errors.ts';
import type { Address } from '../../../device/index.ts';
import type { Driver } from '../driver/driver.ts';
import type { QueueCollective } from '../peers/nccl-library.ts';
import type { CollectiveLaunch, Launch } from './launch.ts';
import type { Launcher } from './launcher.ts';

/** What is captured on one device. */
export interface CapturedLaunches {
  readonly driver: Driver;
  readonly launcher: Launcher;
  readonly launches: readonly Launch[];
}

/**
 * Captures what several devices run, each into an executable graph of its own, which the caller destroys. All go on to their next
 * collective, the n-th of one being the n-th of all, and queue that together. Throws what a driver or `queueCollective` does, with
 * nothing left.
 */
export function captureAll(
  parts: readonly CapturedLaunches[],
  queueCollective: QueueCollective,
): readonly Address[] {
  const streams: Address[] = [];
  try {
    for (const { driver, launcher, launches } of parts) {
      const stream = driver.createStream('capture');
      streams.push(stream);
      launcher.prepare(launches, stream);
    }
    return instantiateAll(parts, capturedOn(parts, streams, queueCollective));
  } finally {
    for (const [i, stream] of streams.entries()) parts[i]?.driver.destroyStream(stream);
  }
}

/** Captures what one device runs, without collectives. */
export function capture(part: CapturedLaunches): Address {
  const refuse = () => invariant(false, 'collectives are queued for all ranks at once');
  const [executable] = captureAll([part], refuse);
  return executable as Address;
}

/** The graphs, by device. */
function capturedOn(
  parts: readonly CapturedLaunches[],
  streams: readonly Address[],
  queueCollective: QueueCollective,
): readonly Address[] {
  const graphs: Address[] = [];
  let begun = 0;
  try {
    for (const [i, { driver }] of parts.entries()) {
      driver.beginCapture(streams[i] as Address);
      begun++;
    }
    queueAll(parts, streams, queueCollective);
    for (const [i, { driver }] of parts.entries()) graphs.push(driver.endCapture(streams[i] as Address));
  } catch (error) {
    for (const [i, graph] of graphs.entries()) parts[i]?.driver.destroyGraph(graph);
    for (let i = graphs.length; i < begun; i++) abandon(parts[i]?.driver, streams[i] as Address);
    throw error;
  }
  return graphs;
}

function queueAll(
  parts: readonly CapturedLaunches[],
  streams: readonly Address[],
  queueCollective: QueueCollective,
): void {
  const at = parts.map(() => 0);
  for (;;) {
    const collectives = parts.map(({ launcher, launches }, i) => {
      const next = launches.findIndex((launch, index) => index >= (at[i] as number) && isCollective(launch));
      const end = next < 0 ? launches.length : next;
      launcher.queue(launches.slice(at[i], end), streams[i] as Address);
      at[i] = end + 1;
      return launches[end] as CollectiveLaunch | undefined;
    });
    const met = collectives.flatMap((launch, i) =>
      launch ? [{ of: launch.of, stream: streams[i] as Address }] : [],
    );
    if (met.length === 0) return;
    invariant(met.length === parts.length, 'ranks compute as many collectives');
    queueCollective(met);
  }
}

/** Whether a launch is queued for all ranks at once. */
export function isCollective(launch: Launch): launch is CollectiveLaunch {
  return launch.kind === 'collective';
}

function abandon(driver: Driver | undefined, stream: Address): void {
  try {
    driver?.destroyGraph(driver.endCapture(stream));
  } catch {
    // An invalidated capture has no graph; the error that invalidated it is the one to report.
  }
}

/** Destroys the graphs. */
function instantiateAll(parts: readonly CapturedLaunches[], graphs: readonly Address[]): readonly Address[] {
  const executables: Address[] = [];
  try {
    for (const [i, { driver }] of parts.entries()) executables.push(driver.instantiate(graphs[i] as Address));
  } catch (error) {
    for (const [i, executable] of executables.entries()) parts[i]?.driver.destroyExecutable(executable);
    throw error;
  } finally {
    for (const [i, graph] of graphs.entries()) parts[i]?.driver.destroyGraph(graph);
  }
  return executables;
}

import type { Device, Executable } from '../../src/device/index.ts';
import { type Launch as HipCudaLaunch, moduleKey } from '../../src/devices/hip-cuda/index.ts';
import type { Launch as WebGpuLaunch } from '../../src/devices/webgpu/launching/launch.ts';

export type Launch = HipCudaLaunch | WebGpuLaunch;

/** A key that equal launches share. */
export function kindOf(launch: Launch): string {
  if (!('kind' in launch)) {
    const { name, constants } = launch.module;
    return `${name} ${JSON.stringify(Object.values(constants)).replaceAll(/[^-\w.,]/g, '')} ${launch.grid}`;
  }
  return launch.kind === 'kernel'
    ? `${launch.kernel} ${moduleKey(launch.module)} ${launch.grid}`
    : launch.kind;
}

/** Whether a launch adds up what the product before it has sent. */
export function addsPushed(launch: Launch): boolean {
  return 'kind' in launch && launch.kind === 'kernel' && launch.kernel === 'add_pushed';
}

/** Whether a launch waits for the other ranks of a group. */
export function isMeeting(launch: Launch): boolean {
  return 'kind' in launch && launch.kind === 'kernel' && /^all_|^add_pushed$/.test(launch.kernel);
}

/** Launches collected while the plan is bound, so that those of a kind can be timed together. */
export class Recorded {
  readonly launches: (readonly Launch[])[] = [];

  /** The capacity that the device is limited to. */
  rows = 1;

  /** The device, with its programs' recordings observed, and limited to one capacity. */
  watching(device: Device): Device {
    return new Proxy(device, {
      get: (target, key) => {
        if (key === 'rowCapacities') return () => [this.rows];
        if (key === 'linkPeers')
          return async (ranks: readonly Device[]) => target.linkPeers?.(ranks.map(unwatched));
        if (key === WATCHED) return target;
        const value: unknown = Reflect.get(target, key, target);
        if (key !== 'record') return typeof value === 'function' ? value.bind(target) : value;
        return (executables: readonly (Executable & { launches: readonly Launch[] })[], label: string) => {
          this.launches.splice(0, this.launches.length, ...executables.map(({ launches }) => launches));
          return target.record(executables, label);
        };
      },
    });
  }

  /** All launches, in order. */
  get all(): readonly Launch[] {
    return this.launches.flat();
  }
}

const WATCHED = Symbol('watched');

/** The device behind a watched one. */
function unwatched(device: Device): Device {
  return (device as Device & { [WATCHED]?: Device })[WATCHED] ?? device;
}

/**
 * The places of launches by kind, in order of first appearance, which are the same on all ranks. What adds up sums that the product
 * before it has sent is of one kind with that: without it, it would wait in vain.
 */
export function kindsOf(launches: readonly Launch[]): Map<string, number[]> {
  const kinds = new Map<string, number[]>();
  for (const [place, launch] of launches.entries()) {
    const next = launches[place + 1];
    const isPushed = next !== undefined && addsPushed(next);
    if (addsPushed(launch)) continue;
    const key = isPushed ? `${kindOf(launch)} + ${kindOf(next)}` : kindOf(launch);
    kinds.set(key, [...(kinds.get(key) ?? []), ...(isPushed ? [place, place + 1] : [place])]);
  }
  return kinds;
}

/** An executable of launches recorded by a plan, which keeps their memory. */
export function executableOf(name: string, launches: readonly Launch[]): Executable {
  return { program: { graph: { name } }, buffers: new Set(), launches } as unknown as Executable;
}

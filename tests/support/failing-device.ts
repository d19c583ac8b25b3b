import type { Device } from '../../src/device/index.ts';

/** The calls that allocate on a device. */
const CREATIONS: ReadonlySet<string | symbol> = new Set([
  'createBuffer',
  'createPinned',
  'createStream',
  'compile',
  'record',
]);

/** A device of which one creation fails, counted from 1. */
export interface FailingDevice {
  readonly device: Device;
  failAt: number | undefined;
  /** The number of creations so far. */
  created: number;
}

/** Wraps a device, which is not disposed with the wrapper. */
export function failingDevice(device: Device): FailingDevice {
  const failing: FailingDevice = {
    failAt: undefined,
    created: 0,
    device: new Proxy(device, {
      get(target, name) {
        if (name === Symbol.asyncDispose) return async () => {};
        const value = Reflect.get(target, name) as unknown;
        if (typeof value !== 'function') return value;
        if (!CREATIONS.has(name)) return value.bind(target) as unknown;
        return (...args: unknown[]) => {
          if (++failing.created === failing.failAt) throw new RangeError(`no ${String(name)}`);
          return value.apply(target, args) as unknown;
        };
      },
    }),
  };
  return failing;
}

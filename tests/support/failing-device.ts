import type { Device } from '../../src/device/index.ts';

/** The calls by which a device sets things aside. */
const CREATIONS: ReadonlySet<string | symbol> = new Set([
  'createBuffer',
  'createPinned',
  'createStream',
  'compile',
  'record',
]);

/** A device with one of its creations failing, the first of which is number 1. */
export interface FailingDevice {
  readonly device: Device;
  failAt: number | undefined;
  /** Creations so far. */
  created: number;
}

/** Wraps a device, which outlives the wrapper's disposal. */
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

import { RocmforgeError } from '../../src/base/errors.ts';
import type { Device } from '../../src/device/index.ts';

/** The device with some members replaced. */
export function deviceWith<D extends Device>(device: D, members: Partial<Device>): D {
  return new Proxy(device, {
    get(target, name) {
      if (name in members) return Reflect.get(members, name) as unknown;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

/** Throws an error as a driver does. */
export function refuseAsDriver(): never {
  throw new RocmforgeError('DRIVER_CALL', { device: '', call: '', status: 1, text: '', hint: '' });
}

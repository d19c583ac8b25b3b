import type { Device } from '../../src/device/index.ts';

/** The device as one that gains by plans of several capacities. */
export function withCapacities(device: Device, capacities: readonly number[]): Device {
  return new Proxy(device, {
    get(target, key) {
      if (key === 'rowCapacities')
        return (rows: number) => [...capacities.filter((capacity) => capacity < rows), rows];
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

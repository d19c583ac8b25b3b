import type { Device } from '../../src/device/index.ts';
import { deviceWith } from './device-with.ts';

/** The device with the given capacities for plans. */
export function withCapacities(device: Device, capacities: readonly number[]): Device {
  return deviceWith(device, {
    rowCapacities: (rows) => [...capacities.filter((capacity) => capacity < rows), rows],
  });
}

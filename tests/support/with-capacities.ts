import type { Device } from '../../src/device/index.ts';
import { deviceWith } from './device-with.ts';

/** The device as one that gains by plans of several capacities. */
export function withCapacities(device: Device, capacities: readonly number[]): Device {
  return deviceWith(device, {
    rowCapacities: (rows) => [...capacities.filter((capacity) => capacity < rows), rows],
  });
}

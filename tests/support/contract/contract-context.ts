import { test } from 'node:test';
import type { Device } from '../../../src/device/index.ts';
import { type ContractOptions, selected } from './contract-options.ts';

/** Shared by the groups of the suite. */
export interface ContractContext {
  readonly options: ContractOptions;
  /** The device under test, opened before the first test. */
  device(): Device;
}

/** Declares one test if selected; it is skipped with its reason if the device's options say so. */
export function contractTest({ options }: ContractContext, name: string, body: () => Promise<void>): void {
  if (options.only?.(name) === false) return;
  const skip = selected(options.skip, name)?.reason;
  test(name, skip === undefined ? {} : { skip }, body);
}

/** True when a whole group is skipped, represented by one skipped test. */
export function skipsGroup({ options }: ContractContext, group: string): boolean {
  const skip = selected(options.skip, group)?.reason;
  if (skip === undefined) return false;
  test(`${group}: all`, { skip }, () => {});
  return true;
}

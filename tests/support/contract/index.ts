import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Device } from '../../../src/device/index.ts';
import { testBindings } from './bindings.ts';
import type { ContractContext } from './contract-context.ts';
import type { ContractOptions } from './contract-options.ts';
import { testIsolation } from './isolation.ts';
import { testMemory } from './memory.ts';
import { testOperators } from './operators.ts';
import { testPacking } from './packing.ts';
import { testSteps } from './steps.ts';
import { testStreams } from './streams.ts';

export type { ContractOptions, TestSelection } from './contract-options.ts';

/**
 * Everything that the device contract and the operator contract promise, as tests of one device. Operators are compared
 * with the reference device. Test names start with their group (`memory`, `streams`, `bindings`, `steps`, `packing`,
 * `operator KIND`, `isolation`), which `options` uses for selection.
 */
export function testDeviceContract(
  name: string,
  openDevice: () => Promise<Device>,
  options: ContractOptions = {},
): void {
  describe(`device contract: ${name}`, () => {
    let opened: Device | undefined;
    const context: ContractContext = {
      options,
      device: () => {
        assert.ok(opened, 'the device is open');
        return opened;
      },
    };
    before(async () => {
      opened = await openDevice();
    });
    testMemory(context);
    testStreams(context);
    testBindings(context);
    testSteps(context);
    testPacking(context);
    testOperators(context);
    testIsolation(context);
    test('nothing is alive when all is disposed', () => assert.equal(context.device().liveObjects(), 0));
    after(async () => {
      await opened?.[Symbol.asyncDispose]();
    });
  });
}

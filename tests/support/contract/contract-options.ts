import type { Device } from '../../../src/device/index.ts';

/** Tests by the start of their names, and why they are special. */
export interface TestSelection {
  readonly reason: string;
  readonly tests: readonly (string | RegExp)[];
}

/** A device under test, and where it differs from the full contract. */
export interface ContractOptions {
  /** Which tests, by their names: a file may hold a part of the suite, others the rest. All without it. */
  readonly only?: (test: string) => boolean;
  /** Tests that make no sense for the device. */
  readonly skip?: readonly TestSelection[];
  /** Operator tests whose graphs the device must refuse with `OP_UNSUPPORTED`. */
  readonly unsupported?: readonly TestSelection[];
  /** Operator tests held to another normalized squared error. */
  readonly relax?: readonly (TestSelection & { readonly nmse: number })[];
  /** The device never quantizes activations: quantized weights are held to what F32 weights are. */
  readonly exactF32?: boolean;
  /** Queues work that fails when its turn comes, in a way that only this device's kind has. */
  readonly failQueuedWork?: (device: Device) => (stream: ReturnType<Device['createStream']>) => void;
}

/** The first selection that names the test. */
export function selected<S extends TestSelection>(
  selections: readonly S[] | undefined,
  name: string,
): S | undefined {
  return selections?.find(({ tests }) =>
    tests.some((test) => (typeof test === 'string' ? name.startsWith(test) : test.test(name))),
  );
}

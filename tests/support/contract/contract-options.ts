import type { Device } from '../../../src/device/index.ts';

/** Tests selected by a prefix of their names, with the reason. */
export interface TestSelection {
  readonly reason: string;
  readonly tests: readonly (string | RegExp)[];
}

/** A device under test, and its deviations from the full contract. */
export interface ContractOptions {
  /** Selects tests by name, to divide the suite among files. Default: all. */
  readonly only?: (test: string) => boolean;
  /** Tests that do not apply to the device. */
  readonly skip?: readonly TestSelection[];
  /** Operator tests whose graphs the device must refuse with `OP_UNSUPPORTED`. */
  readonly unsupported?: readonly TestSelection[];
  /** Operator tests with a different limit on the normalized squared error. */
  readonly relax?: readonly (TestSelection & { readonly nmse: number })[];
  /** The device never quantizes activations, so quantized weights get the limit of F32 weights. */
  readonly exactF32?: boolean;
  /**
   * Rows from which products by F16 and BF16 weights round activations once to the weight's type; without it, none do, and these
   * products get the limit of F32 weights.
   */
  readonly roundsFrom?: number;
  /** Queues work that fails when it runs, in a way specific to this kind of device. */
  readonly failQueuedWork?: (device: Device) => (stream: ReturnType<Device['createStream']>) => void;
}

/** The first selection that matches the test's name. */
export function selected<S extends TestSelection>(
  selections: readonly S[] | undefined,
  name: string,
): S | undefined {
  return selections?.find(({ tests }) =>
    tests.some((test) => (typeof test === 'string' ? name.startsWith(test) : test.test(name))),
  );
}

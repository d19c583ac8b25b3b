/**
 * The engine's mechanisms, each of which can be switched off to see what it is worth. The places that steps' inputs and
 * results wait in (`inFlight`) and the steps that stay recorded (`preparedSteps`) are options of the plan.
 */
export interface RuntimeOptions {
  /** A step is queued before what the last one sampled is read: its rows take their ids on the device. */
  readonly pipelined: boolean;
  /** A step is queued right behind the upload of its inputs. Otherwise the host waits for the upload. */
  readonly asyncInputs: boolean;
  /** Where tokens are chosen. On the host, all logits are read back, and steps cannot be pipelined. */
  readonly sampling: 'device' | 'host';
  /** Steps that are likely to come are recorded while there is nothing to do. Otherwise each is at its first use. */
  readonly recordsAhead: boolean;
  /** Whether sequences join while others generate, or wait until all of those have ended. */
  readonly batching: 'continuous' | 'static';
  /**
   * Milliseconds between two tokens of a sequence that the prompts of others are to keep to: slices of prompts become as large
   * as measured steps allow. Default: they fill each step, as they do in deterministic models whatever is asked for.
   */
  readonly tokenMs: number | undefined;
  /**
   * Milliseconds that a step is to take in which nobody generates, so that somebody who comes is not kept waiting by a long prompt.
   * Default as that of `tokenMs`.
   */
  readonly promptMs: number | undefined;
}

/** Everything on. */
export const DEFAULT_RUNTIME: RuntimeOptions = {
  pipelined: true,
  asyncInputs: true,
  sampling: 'device',
  recordsAhead: true,
  batching: 'continuous',
  tokenMs: undefined,
  promptMs: undefined,
};

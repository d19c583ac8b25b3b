/**
 * The engine's mechanisms, each of which can be switched off to measure its gain. The number of buffers for inputs and
 * results (`inFlight`) and of recorded steps (`preparedSteps`) are options of the plan.
 */
export interface RuntimeOptions {
  /** Whether a step is queued before the tokens of the previous one are read: its rows take their ids on the device. */
  readonly pipelined: boolean;
  /** Whether a step is queued right behind the upload of its inputs. Otherwise the host waits for the upload. */
  readonly asyncInputs: boolean;
  /** Where tokens are sampled. On the host, all logits are read back, and steps cannot be pipelined. */
  readonly sampling: 'device' | 'host';
  /** Whether likely steps are recorded while idle. Otherwise each is recorded on first use. */
  readonly recordsAhead: boolean;
  /**
   * Whether the number of draft tokens follows their acceptance and the load, down to none where they cost more than
   * they save. Otherwise it is always the maximum.
   */
  readonly adaptsDrafts: boolean;
  /** Whether sequences join while others generate, or wait until all of those have ended. */
  readonly batching: 'continuous' | 'static';
  /**
   * Target for the milliseconds between two tokens of a sequence, which limits the prompt slices of others according to
   * measured step times; `auto`: 12 on a CPU, otherwise 20. Default: prompts fill each step, as they always do in
   * deterministic models.
   */
  readonly tokenMs: number | 'auto' | undefined;
  /**
   * Target for the milliseconds of a step in which no sequence generates, so that new requests are not delayed by a
   * long prompt. Default: no limit, as for `tokenMs`.
   */
  readonly promptMs: number | undefined;
}

/** Everything on. */
export const DEFAULT_RUNTIME: RuntimeOptions = {
  pipelined: true,
  asyncInputs: true,
  sampling: 'device',
  recordsAhead: true,
  adaptsDrafts: true,
  batching: 'continuous',
  tokenMs: undefined,
  promptMs: undefined,
};

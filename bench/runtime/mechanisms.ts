import type { LoadModelOptions } from '../../src/node/load-model.ts';

/** A mechanism of the engine that makes it faster. */
export interface Mechanism {
  readonly name: string;
  /** The expected gain, in percent. */
  readonly expected: readonly [least: number, most: number];
  /** Whether it keeps the device from waiting for the host, or makes steps fuller. */
  readonly gainsBy: 'shorter gaps' | 'fuller steps';
  /** The options with it, if it has no effect with everything else enabled. */
  readonly on?: LoadModelOptions;
  /** The options without it. */
  readonly off: LoadModelOptions;
}

/** Everything enabled, with buffers for three steps. */
export const EVERYTHING: LoadModelOptions = { inFlight: 3 };

const READ_BEFORE_NEXT = { inFlight: 3, runtime: { pipelined: false } } as const;

export const MECHANISMS: readonly Mechanism[] = [
  { name: 'triple buffering', expected: [20, 30], gainsBy: 'shorter gaps', off: { inFlight: 1 } },
  {
    name: 'pre-built jobs',
    expected: [10, 20],
    gainsBy: 'shorter gaps',
    off: { inFlight: 3, preparedSteps: 0 },
  },
  {
    name: 'asynchronous inputs',
    expected: [5, 10],
    gainsBy: 'shorter gaps',
    off: { inFlight: 3, runtime: { asyncInputs: false } },
  },
  { name: 'pipelined batches', expected: [30, 50], gainsBy: 'shorter gaps', off: READ_BEFORE_NEXT },
  {
    name: 'device sampling',
    expected: [10, 20],
    gainsBy: 'shorter gaps',
    // With sampling on the host, ids are not known in advance; so the other side of the comparison does not pipeline
    // either.
    on: READ_BEFORE_NEXT,
    off: { inFlight: 3, runtime: { sampling: 'host' } },
  },
  {
    name: 'continuous batching',
    expected: [50, 100],
    gainsBy: 'fuller steps',
    off: { inFlight: 3, runtime: { batching: 'static' } },
  },
];

/** Without steps recorded ahead of time. What these gain is a first token, once for each shape. */
export const NOTHING_AHEAD: LoadModelOptions = { inFlight: 3, runtime: { recordsAhead: false } };

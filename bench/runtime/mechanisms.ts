import type { LoadModelOptions } from '../../src/node/load-model.ts';

/** Something that the engine does to be faster. */
export interface Mechanism {
  readonly name: string;
  /** What the design expected of it, in percent more. */
  readonly expected: readonly [least: number, most: number];
  /** Whether it keeps the device from waiting for the host, or makes more of a step. */
  readonly gainsBy: 'shorter gaps' | 'fuller steps';
  /** The options with it, where it cannot do its part with everything else on. */
  readonly on?: LoadModelOptions;
  /** The options without it. */
  readonly off: LoadModelOptions;
}

/** Everything on, with three places for steps. */
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
    // Ids that the host chooses are not known before; the other side of the comparison does without, too.
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

/** Without steps that are recorded while there is nothing to do. What it gains is a first token, once for each shape. */
export const NOTHING_AHEAD: LoadModelOptions = { inFlight: 3, runtime: { recordsAhead: false } };

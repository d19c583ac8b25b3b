import type { ModelOptions } from '../../src/engine/language-model.ts';

/** Something that the engine does to be faster. */
export interface Mechanism {
  readonly name: string;
  /** What the design expected of it. */
  readonly expected: string;
  /** The options with it, where it cannot do its part with everything else on. */
  readonly on?: ModelOptions;
  /** The options without it. */
  readonly off: ModelOptions;
}

/** Everything on, with three places for steps. */
export const EVERYTHING: ModelOptions = { inFlight: 3 };

const READ_BEFORE_NEXT = { inFlight: 3, runtime: { pipelined: false } } as const;

export const MECHANISMS: readonly Mechanism[] = [
  { name: 'triple buffering', expected: '+20-30 %', off: { inFlight: 1 } },
  { name: 'pre-built jobs', expected: '+10-20 %', off: { inFlight: 3, preparedSteps: 0 } },
  { name: 'asynchronous inputs', expected: '+5-10 %', off: { inFlight: 3, runtime: { asyncInputs: false } } },
  { name: 'pipelined batches', expected: '+30-50 %', off: READ_BEFORE_NEXT },
  {
    name: 'device sampling',
    expected: '+10-20 %',
    // Ids that the host chooses are not known before; the other side of the comparison does without, too.
    on: READ_BEFORE_NEXT,
    off: { inFlight: 3, runtime: { sampling: 'host' } },
  },
  {
    name: 'continuous batching',
    expected: '+50-100 %',
    off: { inFlight: 3, runtime: { batching: 'static' } },
  },
];

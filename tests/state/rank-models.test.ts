import { testOnRanks } from '../support/rank-states.ts';
import { testStates } from '../support/state-tests.ts';

// `npm run test:full` has every family.
testStates({ ...testOnRanks(2), brevity: 0.4, models: /hybrid|Qwen|Mamba|latents/ });

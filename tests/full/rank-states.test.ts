import { testOnRanks } from '../support/rank-states.ts';
import { testFamilyStates } from '../support/state-tests.ts';

// The CPU device has no experts' matrices of 11 rows, as a third of the families' are.
for (const ranks of [2, 4]) testFamilyStates({ ...testOnRanks(ranks), brevity: 0.4, mixesDrafts: false });

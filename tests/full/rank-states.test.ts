import { testOnRanks } from '../support/rank-states.ts';
import { testFamilyStates } from '../support/state-tests.ts';

for (const ranks of [2, 3]) testFamilyStates({ ...testOnRanks(ranks), brevity: 0.4, mixesDrafts: false });

import { testOnRanks } from '../support/rank-states.ts';
import { testFamilyStates } from '../support/state-tests.ts';

testFamilyStates({ ...testOnRanks(3), brevity: 0.4, mixesDrafts: false });

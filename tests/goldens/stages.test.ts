import { FAMILY_FIXTURES } from '../support/family-fixtures.ts';
import { testGoldensOf, testModelsOn } from '../support/family-tests.ts';
import { testFloatGoldens } from '../support/golden-tests.ts';
import { cpuStages, onOneDevice } from '../support/rank-devices.ts';

const device = { name: '2 CPU stages', open: onOneDevice(() => cpuStages(2)) };
testGoldensOf(FAMILY_FIXTURES, device);
testModelsOn(device);
testFloatGoldens({ ...device, positions: 24 }, /260K/);

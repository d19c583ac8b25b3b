import { FAMILY_FIXTURES } from '../support/family-fixtures.ts';
import { testGoldensOf } from '../support/family-tests.ts';
import { testFloatGoldens, testQuantizedGoldens } from '../support/golden-tests.ts';
import { cpuRanks, onOneDevice, referenceRanks } from '../support/rank-devices.ts';

for (const ranks of [2, 3, 4]) {
  const open = onOneDevice(async () => referenceRanks(ranks));
  testGoldensOf(FAMILY_FIXTURES, { name: `${ranks} reference devices`, open });
}
for (const ranks of [2, 3]) {
  const device = { name: `${ranks} CPU devices`, open: onOneDevice(() => cpuRanks(ranks)) };
  testFloatGoldens(device, /260K/);
  testQuantizedGoldens(device);
}

import { FAMILY_FIXTURES } from '../support/family-fixtures.ts';
import { testControlVectors } from '../support/control-vector-tests.ts';
import { testGoldensOf } from '../support/family-tests.ts';
import { testFloatGoldens } from '../support/golden-tests.ts';
import { testAdapters } from '../support/lora-tests.ts';
import { testPromptChunks } from '../support/prompt-chunk-tests.ts';
import { cpuStages, onOnePipeline } from '../support/rank-devices.ts';
import { testTaps } from '../support/tap-tests.ts';

const device = { name: '2 CPU stages', open: onOnePipeline(() => cpuStages(2)) };
testGoldensOf(FAMILY_FIXTURES, device);
testTaps(device);
testAdapters(device);
testControlVectors(device);
testPromptChunks(device);
testFloatGoldens({ ...device, positions: 24 }, /260K/);

import { LOSS_CASES } from '../support/device-loss.ts';
import { testStageLoss } from '../support/stage-loss.ts';

testStageLoss(LOSS_CASES.filter(({ anyBatch }) => anyBatch));

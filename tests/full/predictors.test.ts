import { OTHER_PREDICTORS, testPredictions } from '../support/predicting-texts.ts';

for (const architecture of OTHER_PREDICTORS) testPredictions(architecture);

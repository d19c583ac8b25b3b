import { test } from 'node:test';
import { deviceMatchesGolden, hardestDflashGolden } from '../support/dflash-logits.ts';
import { dflashModel, EVERYTHING } from '../support/dflash-model.ts';
import { giveTheSame } from '../support/drafted-texts.ts';
import { saysTheSame } from '../support/predicting-texts.ts';
import { guessesAlike } from '../support/predictor-guesses.ts';
import { NO_SOFTWARE_GPU, openSoftwareGpu } from '../support/software-gpu.ts';

// Each kind of drafts on WebGPU but EAGLE-3's, which `npm test` has: most of their time goes to compiling shaders.
const onWebGpu = { skip: NO_SOFTWARE_GPU };

test('DFlash drafts under WebGPU', onWebGpu, async () => {
  await giveTheSame(() => dflashModel(EVERYTHING), { open: openSoftwareGpu, speculation: 3 });
  await using device = await openSoftwareGpu();
  await deviceMatchesGolden(device, hardestDflashGolden());
});

test('qwen35 predicts under WebGPU', onWebGpu, () => saysTheSame('qwen35', openSoftwareGpu));

test('an assistant predicts under WebGPU', onWebGpu, () =>
  guessesAlike('gemma4-assistant', { most: 8, open: openSoftwareGpu }),
);

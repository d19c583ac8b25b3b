import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { NO_SOFTWARE_GPU } from '../support/software-gpu.ts';

const at = (path: string) => JSON.stringify(new URL(`../../${path}`, import.meta.url).href);

/** A process with a model on the GPU that has answered, is idle for a second and lets go. */
const TEXT = `
  import { LanguageModel } from ${at('src/engine/language-model.js')};
  import { ALL_ARCHITECTURES } from ${at('src/model/architectures/index.js')};
  import { openWebGpu } from ${at('src/node/open-webgpu.js')};
  import { tinyModel } from ${at('tests/support/tiny-model.js')};
  const parts = { gguf: await tinyModel(), device: await openWebGpu(), architectures: ALL_ARCHITECTURES };
  const model = await LanguageModel.open(parts, { context: 32, batch: 1, load: 'eager' });
  await model.generate([1, 2, 3], { maxTokens: 4, ignoreEnd: true }).text();
  const before = process.cpuUsage();
  await new Promise((resolve) => setTimeout(resolve, 1000));
  const { user, system } = process.cpuUsage(before);
  await model.dispose();
  console.log((user + system) / 1000);
  process.once('exit', () => console.error('ended'));
`;

test(
  'an idle model on a GPU leaves the processor alone, and the process ends by itself behind it, without a display',
  { skip: NO_SOFTWARE_GPU },
  () => {
    const { DISPLAY: _, WAYLAND_DISPLAY: __, ...env } = process.env;
    const run = spawnSync(process.execPath, ['--input-type=module', '-e', TEXT], {
      encoding: 'utf8',
      timeout: 60_000,
      env,
    });
    assert.equal(run.status, 0, run.stderr);
    assert.match(run.stderr, /ended/);
    assert.ok(Number(run.stdout) < 200, `${run.stdout} ms of processor time in an idle second`);
  },
);

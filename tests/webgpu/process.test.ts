import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { NO_SOFTWARE_GPU } from '../support/software-gpu.ts';
import { HUNG_MS } from '../support/hung.ts';

const at = (path: string) => JSON.stringify(new URL(`../../${path}`, import.meta.url).href);

/**
 * A process with a model on the GPU that answers, is idle for a moment and lets go. It counts what is put on the event loop
 * (timers, immediates, promises, what native code waits for) and what is called from there: whoever polls does both or either.
 */
const TEXT = `
  import { createHook } from 'node:async_hooks';
  import { LanguageModel } from ${at('src/engine/language-model.js')};
  import { ALL_ARCHITECTURES } from ${at('src/model/architectures/index.js')};
  import { openWebGpu } from ${at('src/node/open-webgpu.js')};
  import { tinyModel } from ${at('tests/support/tiny-model.js')};
  const parts = { gguf: await tinyModel(), device: await openWebGpu(), architectures: ALL_ARCHITECTURES };
  const model = await LanguageModel.open(parts, { context: 32, batch: 1, load: 'eager' });
  let counted = {};
  const count = (type) => { counted[type] = (counted[type] ?? 0) + 1; };
  const hook = createHook({ init: (_, type) => count(type), before: () => count('callbacks') });
  hook.enable();
  await model.generate([1, 2, 3], { maxTokens: 4, ignoreEnd: true }).text();
  const busy = counted;
  // What follows the last step ends some time; what polls does not.
  let idle = {};
  for (let rests = 0; rests < 50 && JSON.stringify(idle) !== '{"callbacks":1}'; rests++) {
    idle = await new Promise((resolve) => {
      setTimeout(() => { counted = {}; }, 100);
      setTimeout(() => resolve({ ...counted }), 400);
    });
  }
  hook.disable();
  await model.dispose();
  console.log(JSON.stringify({ busy, idle }));
  process.once('exit', () => console.error('ended'));
`;

test(
  'an idle model on a GPU polls nothing, and the process ends by itself behind it, without a display',
  { skip: NO_SOFTWARE_GPU },
  () => {
    const { DISPLAY: _, WAYLAND_DISPLAY: __, ...env } = process.env;
    const run = spawnSync(process.execPath, ['--input-type=module', '-e', TEXT], {
      encoding: 'utf8',
      timeout: HUNG_MS,
      env,
    });
    assert.equal(run.status, 0, run.stderr);
    assert.match(run.stderr, /ended/);
    const { busy, idle } = JSON.parse(run.stdout) as Record<'busy' | 'idle', Record<string, number>>;
    assert.ok((busy['Immediate'] ?? 0) > 0, 'polls are seen where there are some');
    assert.deepEqual(idle, { callbacks: 1 }, 'the timer that ends it, and nothing else');
  },
);

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { NO_BROWSER, TestBrowser } from '../support/browser/chromium.ts';
import { bundleLibrary, inPage } from '../support/browser/library.ts';
import { Site } from '../support/browser/site.ts';
import { PROJECT_ROOT } from '../support/project.ts';

test('WebGPU answers a chat turn with the bundled model in Chromium', { skip: NO_BROWSER }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'rocmforge-browser-'));
  t.after(() => rmSync(folder, { recursive: true }));
  await bundleLibrary(folder);
  await using site = await Site.open(folder);
  site.files.set('/chat.gguf', readFileSync(join(PROJECT_ROOT, 'models/minimind2-small-q4_k_m.gguf')));
  await using browser = await TestBrowser.open();
  const page = await browser.page(`${site.url}/`);
  const answer = await inPage(page, {}, async ({ loadModel }) => {
    const model = await loadModel('/chat.gguf', { device: 'webgpu', context: 64, batch: 32 });
    const stream = model.chat([{ role: 'user', content: 'Hi' }], { temperature: 0, maxTokens: 3 });
    const text = await stream.text();
    const { backend } = model.device.info;
    await model.dispose();
    return { text, backend, end: stream.end };
  });
  assert.equal(answer.backend, 'webgpu');
  assert.equal(answer.end.generatedTokens, 3);
  assert.match(answer.text, /^Hello/);
  // With its first layers on the CPU, or wholly there.
  const beside = await inPage(page, {}, async ({ loadModel }) => {
    const say = async (options: { device: 'webgpu' | 'cpu'; gpuLayers: number | 'auto' }) => {
      const model = await loadModel('/chat.gguf', { context: 64, batch: 32, ...options });
      const turns = [{ role: 'user', content: 'Hi' }] as const;
      const text = await model.chat(turns, { temperature: 0, maxTokens: 3 }).text();
      const { backend, details } = model.device.info;
      await model.dispose();
      return [text, backend, details.stages];
    };
    const refused = await say({ device: 'cpu', gpuLayers: 3 }).catch((error: Error) => String(error));
    return {
      refused,
      found: [
        await say({ device: 'webgpu', gpuLayers: 3 }),
        await say({ device: 'webgpu', gpuLayers: 0 }),
        await say({ device: 'cpu', gpuLayers: 'auto' }),
      ],
    };
  });
  const { text } = answer;
  assert.deepEqual(beside.found, [
    [text, 'webgpu', 2],
    [text, 'cpu', undefined],
    [text, 'cpu', undefined],
  ]);
  assert.match(String(beside.refused), /gpuLayers: found 3, expected 0 layers on a GPU/);
});

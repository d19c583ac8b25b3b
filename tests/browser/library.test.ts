import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Page } from 'playwright-core';
import { planSplits } from '../../src/gguf/index.ts';
import { loadModel } from '../../src/index.ts';
import { NO_BROWSER, TestBrowser } from '../support/browser/chromium.ts';
import { bundleLibrary, inPage } from '../support/browser/library.ts';
import { Site } from '../support/browser/site.ts';
import { fileOf } from '../support/gguf-files.ts';
import { PROJECT_ROOT } from '../support/project.ts';
import { tinyBytes, tinyPlan } from '../support/tiny-model.ts';
import { HUNG_MS } from '../support/hung.ts';

const CHAT_MODEL = join(PROJECT_ROOT, 'models/minimind2-small-q4_k_m.gguf');
const tiny = await tinyBytes('F32');
const TINY_SHA256 = createHash('sha256').update(tiny).digest('hex');

describe('rocmforge in Chromium', { skip: NO_BROWSER, concurrency: 1 }, () => {
  let site: Site;
  let open: Site;
  let browser: TestBrowser;
  let page: Page;

  let folder: string;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'rocmforge-library-'));
    await bundleLibrary(folder);
    site = await Site.open(folder);
    open = await Site.open(folder, { isolated: false });
    site.files.set('/chat.gguf', readFileSync(CHAT_MODEL));
    site.files.set('/tiny.gguf', tiny);
    site.files.set('/tiny-q8.gguf', await tinyBytes('Q8_0'));
    site.files.set('/page.gguf', new TextEncoder().encode('<!doctype html><p>not here</p>'.repeat(1000)));
    browser = await TestBrowser.open();
    page = await browser.page(`${site.url}/`);
  });

  after(async () => {
    await browser[Symbol.asyncDispose]();
    await site[Symbol.asyncDispose]();
    await open[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true });
  });

  test('tells what the browser can do, before a model is downloaded', async () => {
    const told = await inPage(page, {}, async ({ support }) => support());
    assert.equal(told.device, 'cpu');
    assert.equal(told.cpu.available, true);
    assert.equal(told.storage.available && (told.storage.freeBytes ?? 0) > 0, true);
    assert.deepEqual(told.webgpu, { available: false, why: 'the only adapter is software' });
    const elsewhere = await browser.page(`${open.url}/`);
    const alone = await inPage(elsewhere, {}, async ({ support }) => support());
    assert.equal(alone.device, 'cpu');
    assert.deepEqual(alone.cpu, { available: true, threads: 1 });
    await elsewhere.close();
  });

  /** Forgets all models, and what the site did wrong. */
  async function fresh(): Promise<void> {
    Object.assign(site.behaviour, { etag: '"1"', ignoreRanges: false, cuts: [], stallAfter: undefined });
    site.behaviour.cutMilliseconds = 250;
    site.requests.length = 0;
    await inPage(page, {}, async ({ ModelStore }) => {
      const store = await ModelStore.open();
      for (const model of await store.list()) await store.remove(model);
    });
  }

  /** Loads a model, generates four tokens and says what came of it: ids, what is stored then, or the error. */
  function attempt(options: object, path = '/tiny.gguf') {
    return inPage(page, { options, path }, async ({ loadModel, ModelStore, isRocmforgeError }, given) => {
      const ids: number[] = [];
      const phases = new Set<string>();
      let failure: { code: string; message: string } | undefined;
      try {
        const onProgress = ({ phase }: { phase: string }) => void phases.add(phase);
        const model = await loadModel(given.path, { device: 'cpu', onProgress, ...given.options });
        for await (const { token } of model.generate([1, 40, 41], {
          temperature: 0,
          maxTokens: 4,
          ignoreEnd: true,
        }))
          if (token) ids.push(token.id);
        await model.dispose();
      } catch (error) {
        if (!isRocmforgeError(error)) throw error;
        failure = { code: error.code, message: error.message };
      }
      const stored = await (await ModelStore.open()).list();
      return { ids, failure, phases: [...phases], stored };
    });
  }

  /** Begins to load the tiny model until so many bytes are there, and ends it by its signal or leaves it. */
  async function loadUntil(bytes: number, abort = true): Promise<void> {
    await inPage(page, { bytes, abort }, async ({ loadModel }, given) => {
      const loading = new AbortController();
      let failed: Promise<unknown> | undefined;
      await new Promise<void>((resolve) => {
        const onProgress = (at: { bytes: number }) => void (at.bytes >= given.bytes && resolve());
        failed = loadModel('/tiny.gguf', { device: 'cpu', onProgress, signal: loading.signal }).catch(
          () => {},
        );
      });
      if (!given.abort) return;
      loading.abort();
      await failed;
    });
  }

  test('the CPU gives the very text that it gives in Node', async () => {
    const given = { question: 'What is the capital of France?', seed: 7, maxTokens: 24 };
    const { text, message, end, loaded } = await inPage(
      page,
      given,
      async (library, { question, ...options }) => {
        const model = await library.loadModel('/chat.gguf', { device: 'cpu', context: 256 });
        const stream = model.chat([{ role: 'user', content: question }], options);
        const text = await stream.text();
        const message = await model.chat([{ role: 'user', content: question }], options).message();
        const loaded = await model.loaded;
        await model.dispose();
        return { text, message, end: stream.end, loaded };
      },
    );
    await using model = await loadModel(CHAT_MODEL, { device: 'cpu', context: 256 });
    const { question, ...options } = given;
    const expected = model.chat([{ role: 'user', content: question }], options);
    assert.equal(text, await expected.text());
    assert.deepEqual(message, { role: 'assistant', content: text });
    assert.deepEqual([end.reason, end.generatedTokens], [expected.end.reason, expected.end.generatedTokens]);
    assert.equal(loaded.bytes, (await model.loaded).bytes);
  });

  test('the API answers in the page, whole and streamed, and refuses as it does over HTTP', async () => {
    const { whole, streamed, status, aborted } = await inPage(page, {}, async ({ loadModel }) => {
      const model = await loadModel('/chat.gguf', { device: 'cpu', context: 256 });
      const headers = { 'content-type': 'application/json' };
      const messages = [{ role: 'user', content: 'What is the capital of France?' }];
      const ask = (body: object, signal: AbortSignal | null = null) =>
        model.fetch('http://localhost/v1/chat/completions', {
          method: 'POST',
          headers,
          body: JSON.stringify({ messages, max_tokens: 16, ...body }),
          signal,
        });
      const { choices } = await (await ask({})).json();
      const events = await (await ask({ stream: true })).text();
      const { status } = await ask({ temperature: 'hot' });
      const ending = new AbortController();
      const left = await ask({ stream: true, max_tokens: 200, ignore_eos: true }, ending.signal);
      const reader = left.body?.getReader();
      await reader?.read();
      await reader?.cancel();
      ending.abort();
      const aborted = await ask({}, ending.signal).catch((error: Error) => error.name);
      await model.dispose();
      return { whole: choices[0].message.content, streamed: events, status, aborted };
    });
    assert.equal(whole, 'The capital of France is Paris.');
    const pieces = streamed.matchAll(/^data: (\{.*\})$/gm);
    const text = Array.from(pieces, ([, json = '']) => JSON.parse(json).choices[0]?.delta.content ?? '').join(
      '',
    );
    assert.equal(text, whole);
    assert.deepEqual([status, typeof aborted], [400, 'string']);
  });

  test('a model is kept with its hash, found without its server, and removed', async () => {
    await fresh();
    const first = await attempt({ sha256: TINY_SHA256 });
    assert.equal(first.ids.length, 4);
    const [stored, ...others] = first.stored;
    assert.deepEqual(others, []);
    assert.deepEqual(
      [stored?.name, stored?.size, stored?.storedBytes, stored?.complete, stored?.sha256],
      ['tiny.gguf', tiny.length, tiny.length, true, TINY_SHA256],
    );
    assert.ok(first.phases.includes('downloading') && first.phases.includes('ready'));
    site.requests.length = 0;
    const second = await attempt({});
    assert.deepEqual(second.ids, first.ids);
    assert.deepEqual(site.requests, []);
    await fresh();
    assert.deepEqual((await attempt({ keep: false })).stored, []);
  });

  test('answers are held to schemas, choices and tools, and rendered by a template of the user’s', async () => {
    const schema = {
      type: 'object',
      properties: { city: { enum: ['Rome', 'Paris'] }, size: { type: 'integer', minimum: 10, maximum: 99 } },
      required: ['city', 'size'],
      additionalProperties: false,
    };
    // A template that shows neither tools nor calls, and whose ids are of nine letters.
    const chatTemplate =
      '{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n{# [TOOL_CALLS] #}';
    const tools = [{ type: 'function', function: { name: 'visit', parameters: schema } }] as const;
    const said = await inPage(page, { schema, tools, chatTemplate }, async ({ loadModel }, given) => {
      const model = await loadModel('/chat.gguf', {
        device: 'cpu',
        context: 512,
        chatTemplate: given.chatTemplate,
      });
      const messages = [{ role: 'user', content: 'Where to?' }] as const;
      const held = await model.chat(messages, { schema: given.schema, seed: 1, maxTokens: 60 }).json();
      const chosen = await model.chat(messages, { choices: ['north', 'south'], seed: 1 }).text();
      const called = await model
        .chat(messages, {
          tools: given.tools,
          toolChoice: 'required',
          parallelCalls: false,
          seed: 1,
          maxTokens: 90,
        })
        .message();
      const refused = await model
        .chat(messages, { schema: { $ref: 'https://example.org/a' } })
        .text()
        .catch((error: unknown) => (error as { code: string }).code);
      await model.dispose();
      return { held, chosen, called, refused };
    });
    const validate = new Ajv2020({ strict: false }).compile(schema);
    assert.ok(validate(said.held), JSON.stringify(said.held));
    assert.ok(['north', 'south'].includes(said.chosen), said.chosen);
    const [call] = said.called.tool_calls ?? [];
    assert.ok(call && validate(JSON.parse(call.function.arguments)), JSON.stringify(said.called));
    assert.match(call.id, /^[a-zA-Z0-9]{9}$/);
    assert.equal(said.refused, 'SCHEMA_UNSUPPORTED');
  });

  test('weights are decoded by workers on their way', async () => {
    await fresh();
    const { ids, failure } = await attempt({ weights: 'f32' }, '/tiny-q8.gguf');
    assert.deepEqual([ids.length, failure], [4, undefined]);
  });

  test('a connection that breaks off is taken up where it ended', async () => {
    let begins: number[] = [];
    // A slow browser has read nothing yet when the connection breaks off.
    for (let wait = 250; !begins[2] && wait < HUNG_MS; wait *= 4) {
      await fresh();
      Object.assign(site.behaviour, { cuts: [1000, 100_000], cutMilliseconds: wait });
      const { ids, stored } = await attempt({ sha256: TINY_SHA256 });
      assert.equal(ids.length, 4);
      assert.equal(stored[0]?.complete, true);
      begins = site.requests.map((request) => Number(/=(\d+)/.exec(request)?.[1]));
      assert.equal(begins.length, 3);
    }
    const [first = -1, second = -1, third = -1] = begins;
    assert.ok(first === 0 && second <= 1000 && third >= second && third > 0, site.requests.join());
  });

  test('a download that a crash cut off goes on in the next session', async () => {
    await fresh();
    site.behaviour.stallAfter = 150_000;
    await loadUntil(150_000, false);
    await browser.restart();
    site.resume();
    page = await browser.page(`${site.url}/`);
    site.requests.length = 0;
    const half = await inPage(page, {}, async ({ ModelStore }) => (await ModelStore.open()).list());
    assert.deepEqual([half[0]?.storedBytes, half[0]?.complete, half[0]?.size], [150_000, false, tiny.length]);
    const { stored, phases } = await attempt({ sha256: TINY_SHA256 });
    assert.equal(stored[0]?.complete, true);
    assert.ok(phases.includes('checking'));
    assert.deepEqual(site.requests, ['/tiny.gguf bytes=150000-']);
  });

  test('a record whose writing was cut off leaves what was known before', async () => {
    await fresh();
    await attempt({});
    const known = await inPage(page, {}, async ({ ModelStore }) => {
      let folder = await navigator.storage.getDirectory();
      const store = await ModelStore.open();
      for (const name of ['rocmforge', 'models', (await store.list())[0]?.id ?? ''])
        folder = await folder.getDirectoryHandle(name);
      const records: { file: FileSystemFileHandle; version: number }[] = [];
      for await (const [name, file] of folder.entries()) {
        if (!(file instanceof FileSystemFileHandle) || !name.endsWith('.json')) continue;
        records.push({ file, version: JSON.parse(await (await file.getFile()).text()).version });
      }
      const newest = records.sort((a, b) => b.version - a.version)[0];
      const cut = await newest?.file.createWritable();
      await cut?.write('{"name": "ti');
      await cut?.close();
      return await store.list();
    });
    assert.deepEqual([known[0]?.name, known[0]?.size, known[0]?.complete], ['tiny.gguf', tiny.length, false]);
    site.requests.length = 0;
    const { stored, ids } = await attempt({ sha256: TINY_SHA256 });
    assert.deepEqual([stored[0]?.complete, ids.length], [true, 4]);
    assert.deepEqual(site.requests, [`/tiny.gguf bytes=${tiny.length - 1}-`]);
  });

  test('another version of a file is not patched together with the first', async () => {
    await fresh();
    site.behaviour.stallAfter = 150_000;
    await loadUntil(150_000);
    site.resume();
    site.behaviour.etag = '"2"';
    const { stored } = await attempt({ sha256: TINY_SHA256 });
    assert.equal(stored[0]?.sha256, TINY_SHA256);
    assert.deepEqual(site.requests.slice(-2), ['/tiny.gguf bytes=150000-', '/tiny.gguf bytes=0-']);
  });

  test('a server without ranges is read from its beginning', async () => {
    await fresh();
    Object.assign(site.behaviour, { ignoreRanges: true, cuts: [120_000] });
    const { stored, ids } = await attempt({ sha256: TINY_SHA256 });
    assert.equal(ids.length, 4);
    assert.equal(stored[0]?.complete, true);
    assert.equal((await attempt({ keep: false })).failure?.code, 'HTTP_NO_RANGES');
  });

  test('what has another hash, or is no model, is refused and not kept', async () => {
    await fresh();
    const other = await attempt({ sha256: '0'.repeat(64) });
    assert.equal(other.failure?.code, 'HASH_MISMATCH');
    assert.match(other.failure?.message ?? '', new RegExp(TINY_SHA256));
    assert.deepEqual(other.stored, []);
    const html = await attempt({}, '/page.gguf');
    assert.equal(html.failure?.code, 'GGUF_MAGIC');
    assert.deepEqual(html.stored, []);
    assert.equal((await attempt({}, '/absent.gguf')).failure?.code, 'HTTP_STATUS');
  });

  test('a model for which there is no room is refused before it comes', async () => {
    await fresh();
    const session = await page.context().newCDPSession(page);
    await session.send('Storage.overrideQuotaForOrigin', { origin: site.url, quotaSize: 200_000 });
    const { failure } = await attempt({});
    await session.send('Storage.overrideQuotaForOrigin', { origin: site.url });
    assert.equal(failure?.code, 'STORAGE_FULL');
    assert.match(failure?.message ?? '', new RegExp(`needs ${tiny.length} bytes`));
  });

  test('a model in use cannot be removed, but read by others', async () => {
    await fresh();
    const codes = await inPage(page, {}, async ({ loadModel, ModelStore, isRocmforgeError }) => {
      const model = await loadModel('/tiny.gguf', { device: 'cpu' });
      const store = await ModelStore.open();
      const [stored] = await store.list();
      if (!stored) return ['nothing is stored'];
      const codeOf = (error: unknown) => (isRocmforgeError(error) ? error.code : String(error));
      const inUse = await store.remove(stored).then(() => 'removed', codeOf);
      const second = await loadModel(stored, { device: 'cpu' });
      await second.dispose();
      await model.dispose();
      const then = await store.remove(stored).then(() => 'removed', codeOf);
      return [inUse, then, await loadModel(stored).then(() => 'loaded', codeOf)];
    });
    assert.deepEqual(codes, ['MODEL_IN_USE', 'removed', 'MODEL_NOT_STORED']);
  });

  test('files of the user’s, split ones too, are loaded, kept or not', async () => {
    await fresh();
    const parts = planSplits(tinyPlan('F32'), 'split', { maxTensors: 12 });
    const given = await Promise.all(
      parts.map(async ({ name, plan }) => ({ name, bytes: [...(await fileOf(plan))] })),
    );
    for (const { name, bytes } of given) site.files.set(`/${name}`, Uint8Array.from(bytes));
    const counts = await inPage(page, given, async ({ loadModel, ModelStore }, parts) => {
      const files = parts.map(
        ({ name, bytes }) => new File([Uint8Array.from(bytes)], name, { lastModified: 1 }),
      );
      const store = await ModelStore.open();
      const seen: [number, string][] = [];
      for (const [location, keep] of [
        [files, false],
        [files, true],
        [`/${files[0]?.name}`, true],
      ] as const) {
        const model = await loadModel(location, { device: 'cpu', keep });
        await model.dispose();
        const stored = await store.list();
        seen.push([stored.length, stored.every(({ complete }) => complete) ? 'whole' : 'parts']);
      }
      return seen;
    });
    assert.ok(parts.length > 1);
    assert.deepEqual(counts, [
      [0, 'whole'],
      [parts.length, 'whole'],
      [2 * parts.length, 'whole'],
    ]);
  });

  test('signals end loading and generating, leaving ends the generation, and disposal ends everything', async () => {
    await fresh();
    site.behaviour.stallAfter = 100_000;
    const aborted = await inPage(page, {}, async ({ loadModel, isRocmforgeError }) => {
      const loading = new AbortController();
      const options = { device: 'cpu', signal: loading.signal, onProgress: () => loading.abort() } as const;
      const failure = await loadModel('/tiny.gguf', options).catch((error: unknown) => error);
      return isRocmforgeError(failure) ? failure.code : String(failure);
    });
    site.resume();
    const more = await inPage(page, {}, async ({ loadModel, isRocmforgeError }) => {
      const codeOf = (error: unknown) => (isRocmforgeError(error) ? error.code : String(error));
      const model = await loadModel('/chat.gguf', { device: 'cpu', context: 512 });
      const forever = { temperature: 0, ignoreEnd: true } as const;
      const stopping = new AbortController();
      const stopped = await (async () => {
        for await (const _ of model.generate('One', { ...forever, signal: stopping.signal }))
          stopping.abort();
      })().then(() => 'ended', codeOf);
      let seen = 0;
      for await (const _ of model.generate('Two', forever)) if (++seen === 5) break;
      const after = await model.generate('Three', { ...forever, maxTokens: 2 }).text();
      const refused = await model.generate('x', { temperature: -1 }).text().then(String, codeOf);
      const running = model.generate('Four', forever).text().then(String, codeOf);
      await model.dispose();
      await model.dispose();
      let late = 'usable';
      try {
        model.generate('Five');
      } catch (error) {
        late = codeOf(error);
      }
      return { stopped, seen, after: after.length > 0, refused, running: await running, late };
    });
    assert.equal(aborted, 'ABORTED');
    assert.deepEqual(more, {
      stopped: 'ABORTED',
      seen: 5,
      after: true,
      refused: 'INVALID_ARGUMENT',
      running: 'DISPOSED',
      late: 'DISPOSED',
    });
  });

  test('where pages may not share memory, WebGPU runs, and the CPU on one thread with the same result', async () => {
    await fresh();
    const { ids } = await attempt({});
    open.files.set('/tiny.gguf', tiny);
    const alone = await browser.page(`${open.url}/`);
    const { isolated, failure, devices, cpu, text, stopped } = await inPage(
      alone,
      {},
      async ({ loadModel, isRocmforgeError }) => {
        const devices: string[] = [];
        const load = async (device: 'auto' | 'cpu' | 'webgpu') => {
          const model = await loadModel('/tiny.gguf', { device, context: 256, batch: 2 });
          devices.push(model.device.info.backend);
          return model;
        };
        const failure = await loadModel('/tiny.gguf', { device: 'cpu', threads: 2 }).then(
          () => 'loaded',
          String,
        );
        const options = { temperature: 0, ignoreEnd: true } as const;
        const cpu: number[] = [];
        const own = await load('auto');
        for await (const { token } of own.generate([1, 40, 41], { ...options, maxTokens: 4 }))
          if (token) cpu.push(token.id);
        // A thread that computes still hears that it is to stop.
        const stopping = new AbortController();
        let stopped = 'ended';
        try {
          for await (const _ of own.generate([1, 40], { ...options, signal: stopping.signal }))
            stopping.abort();
        } catch (error) {
          stopped = isRocmforgeError(error) ? error.code : String(error);
        }
        await own.dispose();
        const gpu = await load('webgpu');
        const text = await gpu.generate([1, 40], { ...options, maxTokens: 2 }).text();
        await gpu.dispose();
        return { isolated: globalThis.crossOriginIsolated, failure, devices, cpu, text, stopped };
      },
    );
    await alone.close();
    assert.equal(isolated, false);
    assert.match(failure, /cpu is not available: the page is not cross-origin isolated/);
    assert.deepEqual(devices, ['cpu', 'webgpu']);
    assert.deepEqual(cpu, ids);
    assert.equal(stopped, 'ABORTED');
    assert.ok(text.length > 0);
  });
});

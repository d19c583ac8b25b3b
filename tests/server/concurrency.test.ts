import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../support/random.ts';
import { listen, tinyServer } from '../support/test-server.ts';

const REQUESTS = 32;

interface Ask {
  readonly prompt: readonly number[];
  readonly tokens: number;
}

async function complete(url: string, { prompt, tokens }: Ask, signal?: AbortSignal): Promise<string> {
  const response = await fetch(`${url}/v1/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ prompt, max_tokens: tokens, temperature: 0, ignore_eos: true }),
    ...(signal ? { signal } : {}),
  });
  assert.equal(response.status, 200);
  const { choices } = (await response.json()) as { choices: { text: string }[] };
  return choices[0]?.text ?? '';
}

test(`${REQUESTS} requests of mixed lengths, staggered and some of them left, give what each gives alone`, async (t) => {
  const random = seededRandom(7);
  const below = (count: number) => Math.floor(random() * count);
  const asks = Array.from({ length: REQUESTS }, (): Ask => {
    const prompt = Array.from({ length: 1 + below(80) }, () => 3 + below(256));
    return { prompt, tokens: 1 + below(40) };
  });
  const alone = await listen(t, await tinyServer(t, { parallel: 1 }));
  const expected: string[] = [];
  for (const ask of asks) expected.push(await complete(alone, ask));
  const url = await listen(t, await tinyServer(t, { parallel: 6 }));
  let left = 0;
  await Promise.all(
    asks.map(async (ask, i) => {
      await new Promise((resolve) => setTimeout(resolve, below(300)));
      if (i % 5 === 4) {
        const leaving = AbortSignal.timeout(below(60));
        await complete(url, ask, leaving).catch(() => left++);
      } else assert.equal(await complete(url, ask), expected[i]);
    }),
  );
  assert.ok(left > 0, 'some have left');
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openOnHost, say } from '../support/host-experts.ts';
import { logitsOf } from '../support/prompt-chunk-tests.ts';

const IDS = [7, 25, 53, 30, 17, 14, 21, 38];

// Biases of experts; groups of experts and a shared one; experts beside a dense feed-forward, with factors of their own;
// weighted inputs; two projections around the experts; caches of other layers.
for (const name of ['gpt-oss', 'glm4moe', 'gemma4', 'llama4', 'nemotron_h_moe', 'mixtral']) {
  test(`${name} computes the same bits with its experts in the host's memory`, async () => {
    await using whole = await openOnHost(name);
    const expected = await logitsOf(whole, IDS);
    const said = await say(whole, 48);
    for (const expertSlots of [1, 3]) {
      await using host = await openOnHost(name, { experts: 'host', expertSlots });
      assert.equal(host.fit.expertSlots, expertSlots);
      assert.deepEqual(await logitsOf(host, IDS), expected);
      assert.deepEqual(await say(host, 48), said);
      assert.ok(host.counters.expertBytes > 0, 'experts were copied meanwhile');
    }
  });
}

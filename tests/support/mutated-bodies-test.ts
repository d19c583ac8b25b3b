import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openNullDevice } from '../../src/devices/null/index.ts';
import { mutatedBody } from './mutated-body.ts';
import { seededRandom } from './random.ts';
import { tinyServer, tinySource } from './test-server.ts';

const AT_ONCE = 16;

/** Tests that this many mutated bodies get an answer or a request error, never a server error. */
export function testMutatedBodies(bodies: number, seed: number): void {
  test(`${bodies} mutated bodies get an answer or an error of the request's`, async (t) => {
    // What is generated does not matter here.
    const models = [tinySource('tiny', { sequences: AT_ONCE }, openNullDevice)];
    const server = await tinyServer(t, { parallel: AT_ONCE, models });
    const random = seededRandom(seed);
    const statuses = new Map<number, number>();
    const send = async (): Promise<void> => {
      const { path, body } = mutatedBody(random);
      const headers = { 'content-type': 'application/json' };
      const response = await server.fetch(
        new Request(`http://server${path}`, { method: 'POST', headers, body }),
      );
      const answer = await response.text();
      assert.ok(response.status < 500, `${path} ${body}\n${response.status} ${answer}`);
      if (response.status >= 400)
        assert.equal(typeof (JSON.parse(answer) as { error: unknown }).error, 'object');
      else assert.ok(!answer.includes('"INTERNAL"'), `${path} ${body}\n${answer}`);
      statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
    };
    let left = bodies;
    const work = async () => {
      while (left-- > 0) await send();
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    assert.ok(
      (statuses.get(200) ?? 0) > bodies / 20 && (statuses.get(400) ?? 0) > bodies / 20,
      JSON.stringify([...statuses]),
    );
  });
}

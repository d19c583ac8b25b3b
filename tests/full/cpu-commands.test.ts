import { test } from 'node:test';
import { wholeOf } from '../../src/device/index.ts';
import { openCpu } from '../../src/node/open-cpu.ts';
import { HUNG_MS } from '../support/hung.ts';

/** Commands a device: a wake-up that is missed once in twenty thousand times is found. */
const COMMANDS = 100_000;

/** Takes up to `most` microseconds, which are no time for the event loop. */
function pause(most: number): void {
  const end = performance.now() + (Math.random() * most) / 1000;
  while (performance.now() < end);
}

for (const threads of [1, 2, 3]) {
  test(
    `commands that come just when ${threads} workers go to rest are done`,
    { timeout: 3 * HUNG_MS },
    async () => {
      await using device = await openCpu({ threads });
      const [from, to] = [device.createBuffer(1024, 'from'), device.createBuffer(1024, 'to')];
      await using stream = device.createStream('copies');
      for (let i = 0; i < COMMANDS; i++) {
        stream.copy(wholeOf(from), wholeOf(to));
        if (i % 3 > 0) continue;
        const event = stream.record();
        if (i % 2 > 0) await event.completed();
        else while (!event.query());
        pause(150);
      }
      await stream.synchronize();
      from[Symbol.dispose]();
      to[Symbol.dispose]();
    },
  );
}

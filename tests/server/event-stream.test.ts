import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventStream, type StreamEvent } from '../../src/server/event-stream.ts';

test('comments come while no event does, and nothing of the events is lost', async () => {
  let give: () => void = () => {};
  const waiting = new Promise<void>((resolve) => {
    give = resolve;
  });
  async function* events(): AsyncGenerator<StreamEvent, void> {
    yield { data: 'first' };
    await waiting;
    yield { name: 'named', data: 'second' };
  }
  const reader = eventStream(events(), () => {}, { pingMs: 5 })
    .body?.pipeThrough(new TextDecoderStream())
    .getReader();
  let read = '';
  while (!read.includes('ping\n\n: ping')) read += (await reader?.read())?.value ?? '';
  give();
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
    if (done) break;
    read += value;
  }
  assert.equal(read.replaceAll(': ping\n\n', ''), 'data: first\n\nevent: named\ndata: second\n\n');
});

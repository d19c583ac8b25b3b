import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TextEnd } from '../../src/engine/text-stream.ts';
import type { ChoiceEvent } from '../../src/server/generation/choice-event.ts';
import type { StartedGeneration } from '../../src/server/generation/run-task.ts';
import { ResponseWriter } from '../../src/server/openai/response-writer.ts';

const END: TextEnd = {
  reason: 'length',
  stop: undefined,
  slot: 0,
  promptTokens: 3,
  cachedTokens: 0,
  generatedTokens: 9,
  proposedTokens: 0,
  acceptedTokens: 0,
  draftedSteps: 0,
  acceptedByPosition: [],
  queueSeconds: 0,
  promptSeconds: 0,
  generateSeconds: 0,
};

const HEAD = { id: 'resp_1', created: 1, model: 'tiny', conversation: null };

test('of an answer that a limit cuts off, the last item alone is incomplete, in the stream as at the end', () => {
  const writer = new ResponseWriter({ input: 'hi' }, HEAD, { promptTokens: 3 } as StartedGeneration);
  const events: readonly Exclude<ChoiceEvent, { kind: 'begin' }>[] = [
    { kind: 'text', choice: 0, text: 'Let me see.', token: undefined },
    { kind: 'call', choice: 0, call: 0, id: 'call_1', name: 'add' },
    { kind: 'arguments', choice: 0, call: 0, text: '{"a":' },
    { kind: 'end', choice: 0, finish: 'length', end: END, reasoningTokens: 0 },
  ];
  const streamed = events.flatMap((event) => [...writer.take(event)]);
  const done = streamed.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item);
  const statuses = (items: readonly unknown[]) => items.map((item) => (item as { status: string }).status);
  assert.deepEqual(statuses(done), ['completed', 'incomplete']);
  const { output, status } = writer.response() as { output: unknown[]; status: string };
  assert.deepEqual([status, ...statuses(output)], ['incomplete', 'completed', 'incomplete']);
  assert.deepEqual(output, done);
});

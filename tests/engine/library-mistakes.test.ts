import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { isRocmforgeError, tool } from '../../src/index.ts';
import type { TextModel } from '../../src/engine/text-model.ts';
import { languageModel } from '../../src/integrations/ai-sdk.ts';
import { ChatRocmforge } from '../../src/integrations/langchain.ts';
import { loadModel } from '../../src/node/load-model.ts';
import { modelFetch } from '../../src/server/index.ts';
import { tinyModelFile } from '../support/run-cli.ts';

const NO_MODEL = {} as TextModel;

/** Mistakes that need no open model: what is called, the code, and what is said. */
const MISTAKES: Readonly<Record<string, readonly [call: () => unknown, code: string, says: RegExp]>> = {
  'modelFetch of no model': [
    () => modelFetch(NO_MODEL),
    'INVALID_ARGUMENT',
    /model: found .*, expected an open model/,
  ],
  'languageModel of no model': [() => languageModel(NO_MODEL), 'INVALID_ARGUMENT', /expected an open model/],
  'ChatRocmforge of no model': [
    () => new ChatRocmforge({ model: NO_MODEL }),
    'INVALID_ARGUMENT',
    /expected an open model/,
  ],
  'a temperature beside options': [
    () => new ChatRocmforge({ model: NO_MODEL, temperature: 0 } as never),
    'OPTION_UNKNOWN',
    /ChatRocmforge has no option "temperature"; it has model, options/,
  ],
  'a tool whose arguments are a text': [
    () => tool({ name: 'a', parameters: z.string(), run: () => 1 }),
    'INVALID_ARGUMENT',
    /a\.parameters: found one of "string", expected the schema of an object/,
  ],
  'a tool whose arguments are a list': [
    () => tool({ name: 'a', parameters: { type: 'array' }, run: () => 1 }),
    'INVALID_ARGUMENT',
    /expected the schema of an object/,
  ],
  'a tool’s name with a space': [
    () => tool({ name: 'a b', run: () => 1 }),
    'INVALID_ARGUMENT',
    /found "a b"/,
  ],
};

for (const [name, [call, code, says]] of Object.entries(MISTAKES)) {
  test(`${name} is refused`, () => {
    assert.throws(call, (error: unknown) => {
      assert.ok(isRocmforgeError(error), String(error));
      assert.equal(error.code, code);
      assert.match(error.message, says);
      return true;
    });
  });
}

test('the end of a text is known once it was read', async (t) => {
  await using model = await loadModel(await tinyModelFile(t), { device: 'reference' });
  const text = model.generate('Hi', { maxTokens: 2, ignoreEnd: true });
  assert.throws(() => text.end, { code: 'INVALID_ARGUMENT', message: /a text that has not ended/ });
  await text.text();
  assert.equal(text.end.generatedTokens, 2);
});

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { LanguageModel } from '../../src/engine/language-model.ts';
import { loadModel } from '../../src/node/load-model.ts';
import { BUNDLED } from '../support/run-cli.ts';

let model: LanguageModel;
before(async () => {
  model = await loadModel(BUNDLED, { device: 'cpu', threads: 2, context: 512 });
});
after(() => model?.dispose());

/** A question, with the reasoning opened as templates of reasoning models open it. */
function opened(): number[] {
  const turn = '<|im_start|>user\nWhat is rain?<|im_end|>\n<|im_start|>assistant\n<think>\n';
  return model.tokenizer.encode(turn, { addSpecial: false, parseSpecial: true });
}

for (const budget of [0, 1, 7, 20]) {
  test(`reasoning ends behind ${budget} tokens, and the answer begins`, async () => {
    const answer = model.answer(opened(), {
      temperature: 0,
      maxTokens: 64,
      ignoreEnd: true,
      reasoning: { budget },
    });
    let reasoning = '';
    let text = '';
    let before = 0;
    for await (const chunk of answer) {
      reasoning += chunk.reasoning;
      text += chunk.text;
      if (text === '') before++;
    }
    const closing = model.tokenizer.encode('</think>', { addSpecial: false }).length;
    assert.ok(before <= budget + closing + 4, `${before} tokens before the answer`);
    assert.equal(reasoning === '', budget === 0);
    assert.notEqual(text, '');
    assert.ok(!reasoning.includes('think>'));
  });
}

test('without a budget it thinks on', async () => {
  const answer = model.answer(opened(), { temperature: 0, maxTokens: 40 });
  const message = await answer.message();
  assert.equal(message.content, '');
  assert.notEqual(message.reasoning_content, undefined);
});

test('a budget that nothing exceeds changes nothing', async () => {
  const [free, held] = await Promise.all(
    [{}, { reasoning: { budget: 100 } }].map((options) =>
      model.answer(opened(), { temperature: 0, maxTokens: 40, ...options }).message(),
    ),
  );
  assert.deepEqual(held, free);
});

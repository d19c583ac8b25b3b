import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTokenizer, RerankPrompt } from '../../src/text/index.ts';
import { metadataOf } from '../support/metadata.ts';

const TOKENS = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '</s>', '▁a', '▁b', '▁:', '▁{', '▁}', '▁document', '▁['];

/** The texts of the tokens of the pair `a` and `document`, with this metadata. */
async function pair(more: Parameters<typeof metadataOf>[0], query = 'a', document = 'b'): Promise<string[]> {
  const metadata = metadataOf({
    model: 'bert',
    tokens: TOKENS,
    token_type: TOKENS.map((_, id) => (id < 5 ? 3 : 1)),
    bos_token_id: 2,
    seperator_token_id: 3,
    unknown_token_id: 1,
    ...more,
  });
  const tokenizer = createTokenizer(metadata);
  const ids = await new RerankPrompt(metadata, tokenizer).encode(query, document, undefined);
  return ids.map((id) => tokenizer.tokenText(id));
}

test('a pair is separated by the tokens that the file adds to texts', async () => {
  assert.deepEqual(await pair({}), ['[CLS]', '▁a', '[SEP]', '▁b']);
  // As bge-reranker.
  const roberta = { eos_token_id: 4, add_eos_token: true };
  assert.deepEqual(await pair(roberta), ['[CLS]', '▁a', '</s>', '[SEP]', '▁b', '</s>']);
  const bare = { add_bos_token: false, add_sep_token: false };
  assert.deepEqual(await pair(bare), ['▁a', '▁b']);
  // Without an end of text, the separator ends it.
  assert.deepEqual(await pair({ add_eos_token: false, add_sep_token: true }), ['[CLS]', '▁a', '[SEP]', '▁b']);
});

test('a template surrounds the pair; texts stay texts whatever they hold', async () => {
  const template = { 'tokenizer.chat_template.rerank': '[SEP]{query}:{document}[SEP]' };
  const bare = { ...template, add_bos_token: false };
  assert.deepEqual(await pair(bare), ['[SEP]', '▁a', '▁:', '▁b', '[SEP]']);
  assert.deepEqual(await pair(bare, 'a', '[SEP]'), ['[SEP]', '▁a', '▁:', '▁[', '[UNK]', '[UNK]', '[SEP]']);
  assert.deepEqual(await pair(bare, '{document}'), ['[SEP]', '▁{', '▁document', '▁}', '▁:', '▁b', '[SEP]']);
  assert.throws(
    () =>
      new RerankPrompt(
        metadataOf({ 'tokenizer.chat_template.rerank': '{query}' }),
        createTokenizer(
          metadataOf({ model: 'bert', tokens: TOKENS, token_type: TOKENS.map(() => 1), bos_token_id: 2 }),
        ),
      ),
    { code: 'CHAT_TEMPLATE_INVALID' },
  );
});

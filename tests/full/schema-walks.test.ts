import assert from 'node:assert/strict';
import { test } from 'node:test';
import { walkSchemas } from '../support/grammar/schema-walks.ts';

test('100 000 texts of grammars of random schemas satisfy them, as an independent validator sees it', (context) => {
  let texts = 0;
  while (texts < 100_000) {
    const counts = walkSchemas(500, 24);
    texts += counts.texts;
    context.diagnostic(
      `${counts.schemas} schemas, ${counts.texts} texts; refused: ${JSON.stringify([...counts.refused])}`,
    );
  }
  assert.ok(texts >= 100_000);
});

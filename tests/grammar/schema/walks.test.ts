import assert from 'node:assert/strict';
import { test } from 'node:test';
import { walkSchemas } from '../../support/grammar/schema-walks.ts';

test('what grammars of random schemas let through satisfies them, as an independent validator sees it', (context) => {
  const { schemas, texts, values, refused } = walkSchemas(100, 6);
  const count = [...refused.values()].reduce((sum, of) => sum + of, 0);
  context.diagnostic(
    `${schemas} schemas, ${texts} texts, ${values} values; ${count} refused: ${JSON.stringify([...refused])}`,
  );
  assert.ok(texts > 100, `${texts} texts`);
  assert.ok(count < schemas / 2, `${count} refused`);
});

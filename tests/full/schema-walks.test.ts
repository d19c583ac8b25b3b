import assert from 'node:assert/strict';
import { test } from 'node:test';
import { walkSchemas } from '../support/grammar/schema-walks.ts';

const PARTS = 10;
const TEXTS = 100_000 / PARTS;

for (let part = 1; part <= PARTS; part++) {
  test(`texts of grammars of random schemas satisfy them, as an independent validator sees it: ${TEXTS} texts, ${part} of ${PARTS}`, (context) => {
    let texts = 0;
    while (texts < TEXTS) {
      const counts = walkSchemas(100, 48);
      texts += counts.texts;
      context.diagnostic(
        `${counts.schemas} schemas, ${counts.texts} texts; refused: ${JSON.stringify([...counts.refused])}`,
      );
    }
    assert.ok(texts >= TEXTS);
  });
}

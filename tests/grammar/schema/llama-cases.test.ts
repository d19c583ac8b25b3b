import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isRocmforgeError } from '../../../src/base/errors.ts';
import { schemaGrammar } from '../../../src/grammar/index.ts';
import { byteGrammar, isText } from '../../support/grammar/byte-matcher.ts';
import { PROJECT_ROOT } from '../../support/project.ts';

interface Cases {
  readonly texts: readonly {
    readonly name: string;
    readonly schema: unknown;
    readonly accept: readonly string[];
    readonly reject: readonly string[];
    /** What llama.cpp rejects and we accept, and why. */
    readonly differs?: readonly { readonly text: string; readonly why: string }[];
  }[];
  readonly schemas: readonly {
    readonly name: string;
    readonly schema: unknown;
    readonly isSchema: boolean;
  }[];
}

const CASES = JSON.parse(
  readFileSync(join(PROJECT_ROOT, 'tests/fixtures/grammar/schema-cases.json'), 'utf8'),
) as Cases;

test("llama.cpp's texts are accepted and rejected as there, but for those with a reason", () => {
  for (const { name, schema, accept, reject, differs = [] } of CASES.texts) {
    const grammar = byteGrammar(schemaGrammar(schema, { formats: 'assertion' }));
    for (const text of accept) assert.ok(isText(grammar, text), `${name}: ${text}`);
    for (const text of reject) assert.ok(!isText(grammar, text), `${name}: ${text}`);
    for (const { text, why } of differs) assert.ok(isText(grammar, text) && why !== '', `${name}: ${text}`);
  }
});

/** Schemas that llama.cpp takes and draft 2020-12 does not: `prefixItems` is a list. */
const NO_SCHEMA = new Set([
  'string array',
  'nullable string array',
  'array with empty items and prefixItems',
]);

test("llama.cpp's schemas make grammars, but for those that are none", () => {
  for (const { name, schema, isSchema } of CASES.schemas) {
    const make = (): unknown => schemaGrammar(schema);
    if (isSchema && !NO_SCHEMA.has(name)) assert.doesNotThrow(make, name);
    else assert.throws(make, (error) => isRocmforgeError(error), name);
  }
});

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import { JinjaTemplate } from '../../src/jinja/index.ts';
import { fixture } from '../support/fixture.ts';
import { jinjaFixture, NOW, variablesOf } from '../support/jinja-goldens.ts';

/** The beginning of a rendering's SHA-256, or what came in its place. */
type Golden = string | { readonly rejected: string } | { readonly failed: string };

function rendered(template: JinjaTemplate, variables: Readonly<Record<string, unknown>>): Golden {
  try {
    const { text } = template.render(variables, NOW);
    return createHash('sha256').update(text).digest('hex').slice(0, 16);
  } catch (error) {
    if (isRocmforgeError(error, 'CHAT_TEMPLATE_REJECTED')) return { rejected: error.params.reason };
    if (isRocmforgeError(error, 'CHAT_TEMPLATE_FAILED')) return { failed: '' };
    throw error;
  }
}

const conversations = jinjaFixture<Record<string, Record<string, string>>>('conversations');

for (const [name, goldens] of Object.entries(
  jinjaFixture<Record<string, Record<string, Golden>>>('renderings'),
)) {
  test(`${name} renders as Python renders it`, () => {
    const template = new JinjaTemplate(readFileSync(fixture(`chat-templates/${name}.jinja`), 'utf8'));
    const found = Object.fromEntries(
      Object.entries(conversations).map(([of, variables]) => [
        of,
        rendered(template, variablesOf(variables)),
      ]),
    );
    assert.deepEqual(found, goldens);
  });
}

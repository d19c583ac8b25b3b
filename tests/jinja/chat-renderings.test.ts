import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import { JinjaTemplate, JsonText } from '../../src/jinja/index.ts';
import { fixture } from '../support/fixture.ts';

/** What `strftime_now` tells in the goldens. */
const NOW = new Date(2026, 6, 9, 13, 5, 7);

/** The beginning of a rendering's SHA-256, or what came in its place. */
type Golden = string | { readonly rejected: string } | { readonly failed: string };

function readJson<T>(name: string): T {
  return JSON.parse(readFileSync(fixture(`jinja/${name}.json`), 'utf8')) as T;
}

/** Each variable as the text that Python read it from: JSON keeps large integers and floats apart, JavaScript does not. */
function variablesOf(conversation: Readonly<Record<string, unknown>>): Record<string, JsonText> {
  return Object.fromEntries(
    Object.entries(conversation).map(([name, text]) => [name, new JsonText(text as string)]),
  );
}

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

const conversations = readJson<Record<string, Record<string, unknown>>>('conversations');

for (const [name, goldens] of Object.entries(
  readJson<Record<string, Record<string, Golden>>>('renderings'),
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

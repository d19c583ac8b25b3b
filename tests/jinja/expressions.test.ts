import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import { JinjaTemplate, type JsonText } from '../../src/jinja/index.ts';
import { jinjaFixture, NOW, variablesOf } from '../support/jinja-goldens.ts';

/** A template and what Python made of it: a text, an objection of the template's own, or a failure in Python's words. */
interface Case {
  readonly template: string;
  readonly text?: string;
  readonly rejected?: string;
  readonly failed?: string;
}

/** What is made of a template, in the shape of a case; how Python words a failure is its own. */
function outcome(template: string, variables: Readonly<Record<string, JsonText>>): Case {
  try {
    return { template, text: new JinjaTemplate(template).render(variables, NOW).text };
  } catch (error) {
    if (isRocmforgeError(error, 'CHAT_TEMPLATE_REJECTED')) return { template, rejected: error.params.reason };
    if (isRocmforgeError(error, 'CHAT_TEMPLATE_FAILED') || isRocmforgeError(error, 'CHAT_TEMPLATE_INVALID')) {
      return { template, failed: '' };
    }
    throw error;
  }
}

test('small templates give what Python gives', () => {
  const { variables, cases } = jinjaFixture<{ variables: Record<string, string>; cases: Case[] }>(
    'expressions',
  );
  const given = variablesOf(variables);
  assert.ok(cases.length > 600, `${cases.length} cases`);
  const wrong = cases
    .map((wanted) => ({
      wanted: wanted.failed === undefined ? wanted : { ...wanted, failed: '' },
      found: outcome(wanted.template, given),
    }))
    .filter(({ wanted, found }) => JSON.stringify(wanted) !== JSON.stringify(found));
  assert.deepEqual(
    wrong.map(({ found }) => found),
    wrong.map(({ wanted }) => wanted),
  );
});

test("llama.cpp's cases give what they expect, as Python does", () => {
  const cases =
    jinjaFixture<{ name: string; template: string; variables: string; text: string }[]>('llama-cases');
  assert.ok(cases.length > 270, `${cases.length} cases`);
  for (const { name, template, variables, text } of cases) {
    const texts = Object.entries(JSON.parse(variables) as object).map(([key, value]) => [
      key,
      JSON.stringify(value),
    ]);
    const given = variablesOf(Object.fromEntries(texts) as Record<string, string>);
    assert.deepEqual(outcome(template, given), { template, text }, name);
  }
});

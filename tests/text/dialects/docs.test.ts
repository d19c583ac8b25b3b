import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { dialectOf } from '../../../src/text/index.ts';
import { fixture } from '../../support/fixture.ts';
import { PROJECT_ROOT } from '../../support/project.ts';

test('the page of dialects names each with its templates and its mark of reasoning', () => {
  const rows = readFileSync(join(PROJECT_ROOT, 'docs/tools.md'), 'utf8')
    .split('\n')
    .map((line) => line.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|')));
  for (const file of readdirSync(fixture('chat-templates'))) {
    const { name, thinks, reasoning } = dialectOf(readFileSync(fixture(`chat-templates/${file}`), 'utf8'));
    const row = rows.find(([, cell]) => cell === `\`${name}\``);
    assert.ok(row, `${name} is on the page`);
    assert.ok(row[4]?.split(', ').includes(file.replace(/\.jinja$/, '')), `${file} is on the page`);
    if (thinks) assert.equal(row[2], `\`${reasoning.open.trim()}\``, name);
  }
});

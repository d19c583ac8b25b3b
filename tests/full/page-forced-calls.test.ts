import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { pageFiles } from '../../src/node/page-files.ts';
import { NO_BROWSER, TestBrowser } from '../support/browser/chromium.ts';
import { McpTestServer, MCP_KEY } from '../support/browser/mcp-test-server.ts';
import { PROJECT_ROOT } from '../support/project.ts';
import { bundledSource, listen, tinyServer } from '../support/test-server.ts';

/** The bundled model never calls a function by itself; it has to, by the server's own grammar. */
const SAMPLED = { temperature: 0.7, seed: 2, repeatPenalty: 1.1, maxTokens: 160 };
const FORCED = {
  ...SAMPLED,
  serverFields: '{"tool_choice": "required", "parallel_tool_calls": false}',
};

const kept = (settings: object) =>
  `if (self === top) localStorage.setItem('rocmforge settings', ${JSON.stringify(JSON.stringify(settings))})`;

test('a real model calls functions through the real server', { skip: NO_BROWSER }, async (t) => {
  const models = [bundledSource({ context: 2048 })];
  const server = await tinyServer(t, { models, page: pageFiles(join(PROJECT_ROOT, 'dist/web')) });
  const url = await listen(t, server);

  await t.test('JavaScript: shown, run when it is allowed, and its result read', async () => {
    await using browser = await TestBrowser.open({ viewport: { width: 1280, height: 900 } });
    const page = await browser.page(`${url}/`, kept({ ...FORCED, javascript: true }));
    await page.getByRole('textbox', { name: 'Message' }).fill('Compute 6 times 7.');
    await page.keyboard.press('Enter');
    const call = page.locator('.call').first();
    await call.getByText('waits for you').waitFor();
    await call.locator('summary code').getByText('run_javascript').waitFor();
    assert.notEqual((await call.locator('pre').first().textContent())?.trim(), '');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    // Whatever the program is: it ends or fails, and the model has to go on with a call of its own.
    await page.locator('.call').nth(1).getByText('waits for you').waitFor();
    assert.match(await call.locator('summary small').innerText(), /^(?:done|failed)$/);
    assert.notEqual(await call.getByLabel('Result').textContent(), '');
    await page.keyboard.press('Escape');
    await page.locator('.answer').last().getByText('Stopped').waitFor();
    await page.locator('.call').nth(1).getByText('not run').waitFor();
  });

  await t.test('a tool of an MCP server: its arguments are what its schema wants', async () => {
    await using mcp = new McpTestServer();
    await mcp.start();
    const mcpServers = [{ address: mcp.address, header: `Authorization: ${MCP_KEY}` }];
    await using browser = await TestBrowser.open({ viewport: { width: 1280, height: 900 } });
    const serverFields =
      '{"tool_choice": {"type": "function", "function": {"name": "add"}}, "parallel_tool_calls": false}';
    const page = await browser.page(`${url}/`, kept({ ...SAMPLED, serverFields, mcpServers }));
    await page.getByRole('textbox', { name: 'Message' }).fill('Add 20 and 22.');
    await page.keyboard.press('Enter');
    const call = page.locator('.call').first();
    await call.locator('summary code').getByText('add').waitFor();
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.locator('.call').nth(1).getByText('waits for you').waitFor();
    assert.equal(await call.locator('summary small').innerText(), 'done');
    const [{ a, b } = { a: Number.NaN, b: Number.NaN }] = mcp.added as { a: number; b: number }[];
    assert.equal(Number(await call.getByLabel('Result').textContent()), a + b);
  });
});

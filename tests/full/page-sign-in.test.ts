import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { accessibilityFaults } from '../support/browser/accessibility.ts';
import { NO_BROWSER, TestBrowser } from '../support/browser/chromium.ts';
import { McpTestServer } from '../support/browser/mcp-test-server.ts';
import { SaidServer } from '../support/browser/said-server.ts';
import { SignInTestServer } from '../support/browser/sign-in-test-server.ts';
import { PROJECT_ROOT } from '../support/project.ts';

const PAGE = join(PROJECT_ROOT, 'dist/web');

test('people sign in at an MCP server by OAuth', { skip: NO_BROWSER }, async (t) => {
  await using signIn = await SignInTestServer.open();
  await using mcp = new McpTestServer(signIn);
  await mcp.start();
  const said: unknown[] = [];
  await using server = await SaidServer.open(PAGE, async function* ({ messages }) {
    const { role, content } = messages.at(-1) ?? {};
    said.push(content);
    const of = { name: 'add', arguments: '{"a":1,"b":2}' };
    if (role === 'tool') yield { content: `It says: ${content}` };
    else yield { tool_calls: [{ index: 0, id: `call-${said.length}`, type: 'function', function: of }] };
  });
  await using browser = await TestBrowser.open({ viewport: { width: 1280, height: 900 } });
  const page = await browser.page(`${server.url}/`);
  const host = new URL(mcp.address).host;
  const link = page.getByRole('link', { name: `Sign in at ${new URL(signIn.url).host}` });
  const openServers = async () => {
    await page.getByRole('button', { name: 'Settings' }).click();
    await page.getByText('MCP servers').click();
  };
  /** Follows the link, and the one of the page behind it; what the page says where one comes back to. */
  const follow = async (choice: 'Allow' | 'Refuse'): Promise<Page> => {
    const [opened] = await Promise.all([page.context().waitForEvent('page'), link.click()]);
    await opened.getByRole('link', { name: choice }).click();
    await opened.getByRole('link', { name: 'Back to the conversations' }).waitFor();
    return opened;
  };
  const ask = async (answer: string) => {
    await page.getByRole('textbox', { name: 'Message' }).fill('Add');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.locator('.answer').last().getByText(answer).waitFor();
  };

  await t.test('nothing is opened without a click; who refuses is not signed in', async () => {
    await openServers();
    await page.getByRole('textbox', { name: 'Address of an MCP server' }).fill(mcp.address);
    await page.keyboard.press('Enter');
    await page.getByText(`${host} wants you to sign in.`).waitFor();
    assert.deepEqual(await accessibilityFaults(page), []);
    assert.ok(!signIn.asked.some(({ path }) => path === '/authorize'));
    const opened = await follow('Refuse');
    await opened.getByRole('heading', { name: 'Not signed in' }).waitFor();
    assert.deepEqual(await accessibilityFaults(opened), []);
    await opened.close();
    await page.getByText(`${host} says: access_denied`).waitFor();
    await page.getByRole('button', { name: `Connect again: ${host}` }).click();
  });

  await t.test('with the sign-in its tools are there, also after a reload', async () => {
    const opened = await follow('Allow');
    await opened.getByRole('heading', { name: 'Signed in' }).waitFor();
    assert.doesNotMatch(opened.url(), /code|state/);
    await opened.close();
    await page.getByText('3 tools').waitFor();
    await page.keyboard.press('Escape');
    await ask('It says: 3');
    await page.reload();
    await openServers();
    await page.getByText('3 tools').waitFor();
    await page.keyboard.press('Escape');
  });

  await t.test('a token that has ended is renewed by itself', async () => {
    signIn.expire();
    await ask('It says: 3');
    assert.equal(signIn.asked.at(-1)?.parameters['grant_type'], 'refresh_token');
  });

  await t.test('where nothing renews it, the call says so, and the person signs in again', async () => {
    signIn.expire({ refreshes: true });
    await ask(`It says: ${host} wants you to sign in.`);
    await openServers();
    await (await follow('Allow')).close();
    await page.getByText('3 tools').waitFor();
  });

  await t.test('tokens go to their server alone, and with it', async () => {
    const kept = () => page.evaluate<string>(`localStorage.getItem('rocmforge mcp access')`);
    const [token = ''] = signIn.tokens;
    assert.ok((await kept()).includes(token));
    assert.ok(mcp.authorizations.includes(`Bearer ${token}`));
    assert.ok(!JSON.stringify(signIn.asked).includes(token));
    assert.ok(!JSON.stringify(said).includes(token));
    await page.getByRole('button', { name: `Remove ${host}` }).click();
    await page.getByText(mcp.address).waitFor({ state: 'detached' });
    assert.equal(await kept(), '{}');
  });
});

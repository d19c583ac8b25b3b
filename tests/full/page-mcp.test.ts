import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { accessibilityFaults } from '../support/browser/accessibility.ts';
import { NO_BROWSER, TestBrowser } from '../support/browser/chromium.ts';
import { MCP_KEY, McpTestServer } from '../support/browser/mcp-test-server.ts';
import { type SaidRequest, SaidServer } from '../support/browser/said-server.ts';
import { PROJECT_ROOT } from '../support/project.ts';

const PAGE = join(PROJECT_ROOT, 'dist/web');

test('models use the tools of an MCP server with consent', { skip: NO_BROWSER }, async (t) => {
  await using mcp = new McpTestServer();
  await mcp.start();
  const requests: SaidRequest[] = [];
  // A question is the call that the model makes: a name and its arguments.
  await using server = await SaidServer.open(PAGE, async function* (request) {
    requests.push(request);
    const { role, content } = request.messages.at(-1) ?? {};
    if (role === 'tool') yield { content: `It says: ${content}` };
    else {
      const [name, ...written] = String(content).split(' ');
      const of = { name, arguments: written.join(' ') };
      yield { tool_calls: [{ index: 0, id: `call-${requests.length}`, type: 'function', function: of }] };
    }
  });
  await using browser = await TestBrowser.open({ viewport: { width: 1280, height: 900 } });
  const page = await browser.page(`${server.url}/`);
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  const field = (name: string) => page.getByRole('textbox', { name });
  const host = new URL(mcp.address).host;
  const ask = async (text: string) => {
    await button('New conversation')
      .or(page.getByRole('heading', { name: 'Say something.' }))
      .first()
      .waitFor();
    if (await button('New conversation').isVisible()) await button('New conversation').click();
    await page.getByRole('heading', { name: 'Say something.' }).waitFor();
    await field('Message').fill(text);
    await page.keyboard.press('Enter');
  };
  const answered = (text: string) => page.locator('.answer').getByText(text).waitFor();
  const openServers = async () => {
    await button('Settings').click();
    await page.getByText('MCP servers').click();
  };

  await t.test('one that wants a key says so; with it, its tools are listed', async () => {
    await openServers();
    await field('Address of an MCP server').fill('ftp://x');
    await button('Add the server').click();
    await page.getByRole('alert').getByText('This is no address').waitFor();
    await field('Address of an MCP server').fill(mcp.address);
    await button('Add the server').click();
    await page.getByText(`${host} wants another key.`).waitFor();
    await button(`Remove ${host}`).click();
    await field('Address of an MCP server').fill(mcp.address);
    await field('Header with a key').fill(`Authorization: ${MCP_KEY}`);
    await page.keyboard.press('Enter');
    await page.getByText('3 tools').waitFor();
    await page.getByText('Adds numbers').waitFor();
    assert.deepEqual(await accessibilityFaults(page), []);
    await page.keyboard.press('Escape');
  });

  await t.test('a call says where it goes, and is made when it is allowed', async () => {
    await ask('add {"a":20,"b":22}');
    await page.getByText(`The model asks ${host} to do this.`).waitFor();
    assert.deepEqual(mcp.added, []);
    const [{ tools = [] } = { tools: [] }] = requests;
    assert.deepEqual(
      tools.map((tool) => (tool as { function: { name: string } }).function.name),
      ['add', 'fail', 'hang'],
    );
    assert.deepEqual(await accessibilityFaults(page), []);
    await button('Run').click();
    await answered('It says: 42');
    assert.deepEqual(mcp.added, [{ a: 20, b: 22 }]);
  });

  await t.test('what fails, or is called wrongly, is told to the model', async () => {
    await ask('fail {}');
    await button('Run').click();
    await answered('It says: no luck');
    await ask('add [1]');
    await button('Run').click();
    await answered('It says: The arguments are not valid');
    await ask('add {"a":"x"}');
    await button('Run').click();
    await page.locator('.answer > .text').getByText('Invalid arguments').waitFor();
    assert.equal(mcp.added.length, 1);
  });

  await t.test('a session that the server does not know any more is begun anew', async () => {
    await mcp.forget();
    await ask('add {"a":1,"b":2}');
    await button('Run').click();
    await answered('It says: 3');
  });

  await t.test('a lost connection ends its call with what is known, and is made again', async () => {
    await ask('hang {}');
    await button('Run').click();
    await page.locator('.call').getByText('runs').waitFor();
    await mcp.stop();
    await answered(`It says: The connection to ${host} was lost.`);
    await mcp.start();
    await ask('add {"a":2,"b":2}');
    await button('Run').click();
    await answered('It says: 4');
  });

  await t.test('a stopped answer stops its call, and servers are there after a reload', async () => {
    await ask('hang {}');
    await button('Run').click();
    await page.locator('.call').getByText('runs').waitFor();
    await page.keyboard.press('Escape');
    await page.locator('.answer').getByText('Stopped ·').waitFor();
    await mcp.stop();
    await page.reload();
    await openServers();
    await page.getByText(`${host} cannot be reached.`).waitFor();
    await mcp.start();
    await button(`Connect again: ${host}`).click();
    await page.getByText('3 tools').waitFor();
  });
});

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { accessibilityFaults } from '../support/browser/accessibility.ts';
import { NO_BROWSER, TestBrowser } from '../support/browser/chromium.ts';
import { type SaidDelta, type SaidRequest, SaidServer } from '../support/browser/said-server.ts';
import { PROJECT_ROOT } from '../support/project.ts';

const PAGE = join(PROJECT_ROOT, 'dist/web');
/** The sandbox's frames have no storage. */
const WITH_TOOLS = `if (self === top) localStorage.setItem('rocmforge settings', '{ "javascript": true }')`;

/** The deltas of a call, its arguments in two pieces. */
function callOf(id: string, code: string): SaidDelta[] {
  const written = JSON.stringify({ code });
  const call = (of: object) => ({ tool_calls: [{ index: 0, ...of }] });
  return [
    call({ id, type: 'function', function: { name: 'run_javascript', arguments: '' } }),
    call({ function: { arguments: written.slice(0, 5) } }),
    call({ function: { arguments: written.slice(5) } }),
  ];
}

test(
  'models call functions with consent, and what they show is in a sandbox',
  { skip: NO_BROWSER },
  async (t) => {
    const requests: SaidRequest[] = [];
    const programs = new Map([
      ['compute', 'const six = 6; console.log("said"); return six * 7;'],
      ['reach', `fetch('${'v1/models'}').then(() => 'reached', (error) => 'kept from the network')`],
      ['hang', 'for (;;);'],
    ]);
    await using server = await SaidServer.open(PAGE, async function* (request) {
      requests.push(request);
      const { role, content } = request.messages.at(-1) ?? {};
      const program = role === 'user' ? programs.get(String(content)) : undefined;
      if (program !== undefined) yield* callOf(`call-${content}`, program);
      else if (role === 'tool') yield { content: `It says: ${content}` };
      else {
        const script = 'let seen = "kept apart"; try { seen = parent.document.title } catch {}';
        const page = `<p id="x">before</p><script>${script}; x.textContent = seen</script>`;
        yield { content: `\`\`\`html\n${page}\n\`\`\`\n` };
      }
    });
    await using browser = await TestBrowser.open({ viewport: { width: 1280, height: 800 } });
    const page = await browser.page(`${server.url}/`, WITH_TOOLS);
    const button = (name: string) => page.getByRole('button', { name, exact: true });
    const call = page.locator('.call');
    const ask = async (text: string) => {
      await page.getByRole('textbox', { name: 'Message' }).fill(text);
      await page.keyboard.press('Enter');
      await page.locator('.said').getByText(text, { exact: true }).waitFor();
    };
    const fresh = async () => {
      await button('New conversation').click();
      await page.getByRole('heading', { name: 'Say something.' }).waitFor();
    };

    await t.test('a call runs when it is allowed, and the model reads its result', async () => {
      await ask('compute');
      await button('Run').waitFor();
      assert.equal(requests.length, 1);
      assert.equal(requests[0]?.tools?.length, 1);
      assert.deepEqual(await accessibilityFaults(page), []);
      await button('Run').click();
      await page.locator('.answer').getByText('It says: said').waitFor();
      const [, called, result] = requests[1]?.messages ?? [];
      assert.equal(called?.['role'], 'assistant');
      assert.deepEqual(result, {
        role: 'tool',
        tool_call_id: 'call-compute',
        name: 'run_javascript',
        content: 'said\n42',
      });
      assert.deepEqual(await accessibilityFaults(page), []);
    });

    await t.test('it has no network', async () => {
      await fresh();
      await ask('reach');
      await button('Run').click();
      await page.locator('.answer').getByText('It says: kept from the network').waitFor();
    });

    await t.test('it does not run when it is not allowed, and the model is told', async () => {
      await fresh();
      await ask('compute');
      await button('Do not run').click();
      await page.locator('.answer').getByText('It says: The user did not allow this call.').waitFor();
      await call.getByText('not run').waitFor();
    });

    await t.test('what hangs is ended with the answer, and the page goes on', async () => {
      await fresh();
      await ask('hang');
      await button('Run').click();
      await call.getByText('runs').waitFor();
      await page.keyboard.press('Escape');
      await call.getByText('failed').waitFor();
      await page.locator('iframe').waitFor({ state: 'detached' });
      await page.locator('.answer').getByText('Stopped ·').waitFor();
    });

    await t.test('a page in an answer is shown apart from this one', async () => {
      await fresh();
      await ask('a page');
      await button('Show').click();
      await page.frameLocator('.text iframe').getByText('kept apart').waitFor();
      assert.deepEqual(await accessibilityFaults(page), []);
      await button('Hide').click();
      await page.locator('.text iframe').waitFor({ state: 'detached' });
    });
  },
);

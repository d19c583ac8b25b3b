import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** The parts of an axe report that are used. */
interface AxeReport {
  readonly violations: readonly {
    readonly id: string;
    readonly nodes: readonly { readonly html: string }[];
  }[];
}

/** An expression for axe-core's findings in a page that is driven otherwise: rules and the elements that violate them. */
export const AXE_FAULTS = `(async () => {
  ${AXE};
  const { violations } = await axe.run();
  return violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' '));
})()`;

/** axe-core's findings for the current page in both colour schemes: rules and the elements that violate them. */
export async function accessibilityFaults(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  const faults: string[] = [];
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    const report: AxeReport = await page.evaluate('axe.run()');
    for (const { id, nodes } of report.violations) {
      faults.push(`${colorScheme}: ${id}: ${nodes.map(({ html }) => html).join(' ')}`);
    }
  }
  return faults;
}

/** The parts of a node of Chromium's accessibility tree that are used. */
interface TreeNode {
  readonly nodeId: string;
  readonly ignored: boolean;
  readonly role?: { readonly value: string };
  readonly name?: { readonly value: string };
  readonly properties?: readonly { readonly name: string; readonly value: { readonly value?: unknown } }[];
}

/** What only a name tells apart: controls, and the regions that screen readers jump between. */
const NAMED = [
  ...[
    'button',
    'checkbox',
    'combobox',
    'link',
    'menuitem',
    'meter',
    'option',
    'progressbar',
    'radio',
    'searchbox',
  ],
  ...[
    'slider',
    'spinbutton',
    'switch',
    'tab',
    'textbox',
    'DisclosureTriangle',
    'dialog',
    'navigation',
    'region',
    'search',
  ],
];
/** Roles of what is no control by itself: whoever makes one take the focus or a click has to say what it is. */
const PLAIN = ['generic', 'none', 'StaticText', 'paragraph', 'LabelText'];

/** What a screen reader would come to without a name or a role, in the page's accessibility tree. */
export async function namelessControls(page: Page): Promise<string[]> {
  const faults: string[] = [];
  for (const { role, name, ignored, properties = [] } of await accessibilityTree(page)) {
    if (ignored) continue;
    const kind = role?.value ?? '';
    const isNamed = (name?.value ?? '').trim() !== '';
    const takesFocus = properties.some((of) => of.name === 'focusable' && of.value.value === true);
    if (NAMED.includes(kind) && !isNamed) faults.push(`${kind} without a name`);
    if (PLAIN.includes(kind) && takesFocus) faults.push(`${kind} "${name?.value ?? ''}" takes the focus`);
  }
  return faults;
}

/** What a screen reader announces by itself: the page's live regions, by role, with what they say. */
export async function liveRegions(page: Page): Promise<{ role: string; live: string }[]> {
  const found: { role: string; live: string }[] = [];
  for (const { role, ignored, properties = [] } of await accessibilityTree(page)) {
    const live = properties.find(({ name }) => name === 'live')?.value.value;
    if (!ignored && typeof live === 'string' && live !== 'off') found.push({ role: role?.value ?? '', live });
  }
  return found;
}

async function accessibilityTree(page: Page): Promise<readonly TreeNode[]> {
  const session = await page.context().newCDPSession(page);
  const { nodes } = (await session.send('Accessibility.getFullAXTree')) as { nodes: readonly TreeNode[] };
  await session.detach();
  return nodes;
}

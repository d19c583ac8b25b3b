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

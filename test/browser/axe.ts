// axe in the page. Its source is given to the page by the debugger, which the Content-Security-Policy of the page does not concern.
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { isLongForm } from '../servers/test-form.ts';

interface Violation {
  id: string;
  nodes: { target: unknown[] }[];
}

/** The violations that axe finds on a page, one per line. */
export async function violationsOn(page: Page): Promise<string[]> {
  const run = `${axe.source}; axe.run().then(({ violations }) => violations)`;
  const violations = await page.evaluate<Violation[]>(run);
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(' ')).join(', ')}`);
}

/** How a screen is looked at. The short form has each theme and each width once. */
const LOOKS = [
  { name: 'light', colorScheme: 'light', forcedColors: 'none', width: 1280, isShort: false },
  { name: 'dark', colorScheme: 'dark', forcedColors: 'none', width: 1280, isShort: false },
  { name: 'at 320 px', colorScheme: 'light', forcedColors: 'none', width: 320, isShort: false },
  { name: 'dark at 320 px', colorScheme: 'dark', forcedColors: 'none', width: 320, isShort: true },
  { name: 'in forced colours', colorScheme: 'light', forcedColors: 'active', width: 1280, isShort: false },
] as const;

export const looks = LOOKS.filter(({ isShort }) => isShort || isLongForm());

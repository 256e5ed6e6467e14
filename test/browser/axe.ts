// axe in the page. Its source is given to the page by the debugger, which the
// Content-Security-Policy of the page does not concern.
import axe from 'axe-core';
import type { Page } from 'playwright-core';

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

// axe in the page. Its source is given to the page by the debugger, which the Content-Security-Policy of the page does not concern.
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { isFullForm, isLongForm } from '../servers/test-form.ts';

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

/**
 * How a screen is looked at: in each theme on a desk and on a phone, at 320 px, and in forced colours. The long form has each theme and each width,
 * but not each pair of them, and the short form the hardest.
 */
const LOOKS = [
  { name: 'light', colorScheme: 'light', forcedColors: 'none', width: 1440, height: 900, form: 'long' },
  { name: 'dark', colorScheme: 'dark', forcedColors: 'none', width: 1440, height: 900, form: 'full' },
  { name: 'light at 390 px', colorScheme: 'light', forcedColors: 'none', width: 390, height: 844, form: 'full' },
  { name: 'dark at 390 px', colorScheme: 'dark', forcedColors: 'none', width: 390, height: 844, form: 'long' },
  { name: 'dark at 320 px', colorScheme: 'dark', forcedColors: 'none', width: 320, height: 720, form: 'short' },
  { name: 'in forced colours', colorScheme: 'light', forcedColors: 'active', width: 1280, height: 720, form: 'long' },
] as const;

export const looks = LOOKS.filter(({ form }) => form === 'short' || (form === 'long' ? isLongForm() : isFullForm()));
/** The page itself never scrolls sideways at these widths. */
const WIDTHS = isLongForm() ? [360, 640, 1024, 1440, 2560] : [];

/** What is wrong with an open page in every look, and at every width: it is loaded once. */
export async function faultsOn(page: Page): Promise<string[]> {
  const faults: string[] = [];
  for (const { name, width, height, colorScheme, forcedColors } of looks) {
    await page.emulateMedia({ colorScheme, forcedColors });
    await page.setViewportSize({ width, height });
    faults.push(...(await violationsOn(page)).map((fault) => `${name}: ${fault}`), ...(await overflowOf(page, width)));
  }
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 });
    faults.push(...(await overflowOf(page, width)));
  }
  return faults;
}

async function overflowOf(page: Page, width: number): Promise<string[]> {
  const overflow =
    await page.evaluate<number>(`new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))
    .then(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)`);
  return overflow > 0 ? [`the page is ${overflow} px too wide at ${width} px`] : [];
}

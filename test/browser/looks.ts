// The themes and widths in which the screens are checked.
import type { Page } from 'playwright-core';
import { isFullForm, isLongForm } from '../servers/test-form.ts';
import { violationsOn } from './axe.ts';

/**
 * How a screen is checked: in each theme on a desk and on a phone, at 320 px, and in forced
 * colours. The long form has each theme, one of them on a desk and one on the smallest phone, and
 * the short form the latter.
 */
const LOOKS = [
  { name: 'light', colorScheme: 'light', forcedColors: 'none', width: 1440, height: 900, form: 'long' },
  { name: 'dark', colorScheme: 'dark', forcedColors: 'none', width: 1440, height: 900, form: 'full' },
  { name: 'light at 390 px', colorScheme: 'light', forcedColors: 'none', width: 390, height: 844, form: 'full' },
  { name: 'dark at 390 px', colorScheme: 'dark', forcedColors: 'none', width: 390, height: 844, form: 'full' },
  { name: 'dark at 320 px', colorScheme: 'dark', forcedColors: 'none', width: 320, height: 720, form: 'short' },
  { name: 'in forced colours', colorScheme: 'light', forcedColors: 'active', width: 1280, height: 720, form: 'full' },
] as const;

export const looks = LOOKS.filter(({ form }) => form === 'short' || (form === 'long' ? isLongForm() : isFullForm()));
/** The page itself never scrolls sideways at these widths. */
const WIDTHS = isLongForm() ? [360, 390, 640, 1024, 2560] : [];

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

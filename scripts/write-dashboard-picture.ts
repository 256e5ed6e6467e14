// Writes docs/dashboard.png: the timeline of the newest turn of a running service. Its argument is
// an address that signs in, as `holdfast open --print` gives it.
import { resolve } from 'node:path';
import sparticuz from '@sparticuz/chromium';
import { chromium } from 'playwright-core';

const FILE = resolve(import.meta.dirname, '../docs/dashboard.png');
const [address] = process.argv.slice(2);
if (address === undefined)
  throw new Error('Pass an address that signs in: npm run write:dashboard-picture -- "$(npx holdfast open --print)"');

const browser = await chromium.launch({ executablePath: await sparticuz.executablePath(), args: ['--no-sandbox'] });
try {
  const page = await browser.newPage({ viewport: { width: 1200, height: 760 } });
  await page.goto(address);
  await page.locator('nav').getByText('Turns').click();
  await page.locator('[role=row] a').first().click();
  await page.getByRole('list', { name: 'Spans' }).waitFor();
  await page.screenshot({ path: FILE });
} finally {
  await browser.close();
}

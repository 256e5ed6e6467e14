// Pictures of screens, which are kept as files of a run: in `HOLDFAST_PICTURES`, or in a folder of
// the system's temporary files.
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';

const FOLDER = process.env['HOLDFAST_PICTURES'] ?? join(tmpdir(), 'holdfast-pictures');

/** The whole page, also what has to be scrolled to. */
export async function keepPicture(page: Page, name: string): Promise<void> {
  await mkdir(FOLDER, { recursive: true });
  await page.screenshot({ path: join(FOLDER, `${name}.png`), fullPage: true });
}

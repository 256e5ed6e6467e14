// Chromium in front of a service, signed in, and the measurements of a page.
import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import sparticuz from '@sparticuz/chromium';
import { chromium, type BrowserContext, type Page } from 'playwright-core';

export interface BenchBrowser {
  /** A separate window, signed in. `slowdown`: how many times slower its processor is. */
  openPage(slowdown?: number): Promise<Page>;
  close(): Promise<void>;
}

/** The events of a page since it was opened, in milliseconds. */
export interface PageTimes {
  largestPaintMs: number;
  shift: number;
  longestTaskMs: number;
  /** The longest time from an input to the frame that shows its effect. */
  longestInputMs: number;
}

const WATCH = `globalThis.times = { largestPaintMs: 0, shift: 0, longestTaskMs: 0, longestInputMs: 0 };
  const watch = (type, take, more = {}) =>
    new PerformanceObserver((list) => list.getEntries().forEach(take)).observe({ type, buffered: true, ...more });
  watch('largest-contentful-paint', (entry) => { times.largestPaintMs = entry.startTime; });
  watch('layout-shift', (entry) => { if (!entry.hadRecentInput) times.shift += entry.value; });
  watch('longtask', (entry) => { times.longestTaskMs = Math.max(times.longestTaskMs, entry.duration); });
  watch('event', (entry) => { if (entry.interactionId > 0) times.longestInputMs = Math.max(times.longestInputMs, entry.duration); }, { durationThreshold: 16 });`;

/** Builds the dashboard if need be, and starts the browser. */
export async function openBenchBrowser(service: { url: string; apiKey: string }): Promise<BenchBrowser> {
  const script = resolve(import.meta.dirname, '../../web/build.mjs');
  await promisify(execFile)(process.execPath, [script, '--if-needed']);
  const browser = await chromium.launch({
    executablePath: await sparticuz.executablePath(),
    args: ['--no-sandbox', '--disable-gpu'],
    headless: true,
  });

  async function signIn(context: BrowserContext): Promise<void> {
    const answer = await context.request.post(`${service.url}/v1/auth/sessions`, { data: { key: service.apiKey } });
    if (answer.status() !== 204) throw new Error(`the browser was not signed in: ${answer.status()}`);
  }

  return {
    async openPage(slowdown = 1) {
      const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, baseURL: service.url });
      await signIn(context);
      const page = await context.newPage();
      await page.addInitScript(WATCH);
      const debug = await context.newCDPSession(page);
      await debug.send('Emulation.setCPUThrottlingRate', { rate: slowdown });
      return page;
    },
    close: () => browser.close(),
  };
}

export function timesOf(page: Page): Promise<PageTimes> {
  return page.evaluate<PageTimes>('globalThis.times');
}

/**
 * Opens a path and returns when something was painted, in milliseconds since the navigation began.
 */
export async function openedMs(page: Page, path: string, selector: string): Promise<number> {
  await page.goto(path, { waitUntil: 'commit' });
  return page.evaluate<number>(`new Promise((painted) => {
    const look = () => document.querySelector(${JSON.stringify(selector)}) === null
      ? requestAnimationFrame(look)
      : requestAnimationFrame(() => setTimeout(() => painted(performance.now())));
    look();
  })`);
}

// The cost of a page in the browser, as the browser itself counts it.
import type { Page } from 'playwright-core';

export interface PageFigures {
  /** Bytes of all answers since the last navigation, as transferred. */
  bytes(): number;
  /** How much of the page has moved without a reason: the cumulative layout shift. */
  layoutShift(): Promise<number>;
}

interface LoadingFinished {
  encodedDataLength: number;
}

/** Counts from the next navigation on. */
export async function watchFigures(page: Page): Promise<PageFigures> {
  const debug = await page.context().newCDPSession(page);
  await debug.send('Network.enable');
  let bytes = 0;
  debug.on('Network.loadingFinished', ({ encodedDataLength }: LoadingFinished) => (bytes += encodedDataLength));
  page.on('request', (request) => {
    if (request.isNavigationRequest()) bytes = 0;
  });
  await page.addInitScript(`globalThis.shifted = 0;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) if (!entry.hadRecentInput) globalThis.shifted += entry.value;
    }).observe({ type: 'layout-shift', buffered: true });`);
  return {
    bytes: () => bytes,
    layoutShift: () => page.evaluate<number>('shifted'),
  };
}

/** How many elements the document has. */
export function elementsOf(page: Page): Promise<number> {
  return page.evaluate<number>('document.querySelectorAll("*").length');
}

/** By how many pixels the page is wider than the window. */
export function overflowOf(page: Page): Promise<number> {
  return page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth');
}

/** The size of the page's objects after a garbage collection. */
export async function heapBytesOf(page: Page): Promise<number> {
  const debug = await page.context().newCDPSession(page);
  await debug.send('HeapProfiler.collectGarbage');
  const { usedSize } = await debug.send('Runtime.getHeapUsage');
  await debug.detach();
  return usedSize;
}

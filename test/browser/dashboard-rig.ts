// The dashboard in real Chromium, over a real API and database. Every page of a test is watched: an
// error in the page, a violation of its Content-Security-Policy, a request to another origin or one
// with a key in its address fails the test.
import { chromium, type Browser, type BrowserContext, type Page, type Request } from 'playwright-core';
import { afterEach, beforeEach, expect, inject } from 'vitest';
import { ADMIN_KEY, type ApiRig, type ApiRigOptions } from '../api/api-rig.ts';
import { useApiRig } from '../api/use-api-rig.ts';
import { TOKEN_PREFIX } from '../../src/core/browser-token.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import type { Rows } from './fixture/fixture-ids.ts';

export const VIEWER_KEY = 'viewer-key-0123456789';

/** For results that a person would wait for; far above what a busy machine needs. */
const WAIT_MS = 120_000;

let browser: Promise<Browser> | undefined;

function launch(): Promise<Browser> {
  return chromium.launch({
    executablePath: inject('chromiumPath'),
    // It runs as root in containers, where its sandbox cannot. The options that its package
    // proposes are for functions in a cloud: they put all pages into one process, and switch off
    // what is tested here.
    args: ['--no-sandbox', '--disable-gpu'],
    headless: true,
  });
}

/** A separate, signed-out browser window. */
export interface DashboardWindow {
  /** Where the service is. */
  url: string;
  page: Page;
  context: BrowserContext;
  /** Requests of the page so far. */
  requests: { method: string; url: string; body: string | null }[];
  /** Signs in by the cookie, as a browser that has done so before. */
  signIn: (key?: string) => Promise<void>;
  /** Opens a path and waits until its screen is there. */
  open: (path: string) => Promise<void>;
  /** Waits until the page has the answers to all it has asked, but for streams. */
  settle: () => Promise<void>;
}

export interface Dashboard extends DashboardWindow {
  rig: ApiRig;
}

export interface DashboardOptions extends ApiRigOptions {
  /** Fills the database before the first test. */
  fill?: (rows: Rows) => Promise<void>;
}

/** A signed-out browser window for each test, and an API with a database. */
export function useDashboard({ fill, ...options }: DashboardOptions = {}): Dashboard {
  const holder = useApiRig({ keys: [{ name: 'screen', role: 'viewer', key: VIEWER_KEY }], ...options });
  if (fill !== undefined) shareAmongTests(() => fill((text, values) => holder.rig.rows(text, values)));
  const browsing = useBrowser();
  const dashboard = {} as Dashboard;
  beforeEach(async () => {
    const shown = await browsing.openWindow(await holder.rig.listen());
    Object.assign(dashboard, { rig: holder.rig, ...shown } satisfies Dashboard);
  });
  return dashboard;
}

/** Opens windows, which are closed after each test. */
/** `others`: origins that the page asks as well. */
export function useBrowser(): {
  openWindow: (url: string, others?: readonly string[]) => Promise<DashboardWindow>;
} {
  let faults: string[] = [];
  let contexts: BrowserContext[] = [];
  shareAmongTests(async (onEnd) => {
    browser ??= launch();
    const started = await browser;
    onEnd(async () => {
      browser = undefined;
      await started.close();
    });
  });
  afterEach(async () => {
    for (const context of contexts) await context.close();
    const found = faults;
    [contexts, faults] = [[], []];
    expect(found).toEqual([]);
  });
  return {
    async openWindow(url, others = []) {
      const started = await (browser ??= launch());
      const context = await started.newContext({
        viewport: { width: 1280, height: 800 },
        locale: 'en-GB',
        timezoneId: 'UTC',
      });
      contexts.push(context);
      context.setDefaultTimeout(WAIT_MS);
      return openPage(context, url, { faults, others });
    },
  };
}

async function openPage(
  context: BrowserContext,
  url: string,
  { faults, others }: { faults: string[]; others: readonly string[] },
): Promise<DashboardWindow> {
  const requests: DashboardWindow['requests'] = [];
  const page = await context.newPage();
  watch(page, [url, ...others], { faults, requests });
  const unanswered = unansweredOf(page);
  return {
    url,
    page,
    context,
    requests,
    async signIn(key = ADMIN_KEY) {
      const answer = await context.request.post(`${url}/v1/auth/sessions`, { data: { key } });
      expect(answer.status()).toBe(204);
    },
    async open(path: string) {
      await page.goto(url + path);
      await page.locator('main h1').first().waitFor();
    },
    async settle() {
      // An answer leads to further requests within the frames in which it is drawn.
      const isQuiet = async (): Promise<boolean> => {
        await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))');
        return unanswered.size === 0;
      };
      await expect.poll(async () => (await isQuiet()) && (await isQuiet())).toBe(true);
    },
  };
}

/** The requests of a page that have no answer yet, without those that never end. */
function unansweredOf(page: Page): ReadonlySet<Request> {
  const unanswered = new Set<Request>();
  page.on('request', (request) => {
    if (request.isNavigationRequest()) unanswered.clear();
    if (!new URL(request.url()).pathname.endsWith('/events')) unanswered.add(request);
  });
  page.on('requestfinished', (request) => void unanswered.delete(request));
  page.on('requestfailed', (request) => void unanswered.delete(request));
  return unanswered;
}

function watch(
  page: Page,
  origins: readonly string[],
  { faults, requests }: { faults: string[]; requests: DashboardWindow['requests'] },
): void {
  page.on('pageerror', (error) => faults.push(`error in the page: ${error.message}`));
  page.on('console', (message) => {
    // The browser also reports answers such as 401 here; the tests check how the page handles them.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      faults.push(message.text());
  });
  page.on('request', (request) => {
    const url = request.url();
    requests.push({ method: request.method(), url, body: request.postData() });
    if (!origins.some((origin) => url.startsWith(`${origin}/`))) faults.push(`a request to another origin: ${url}`);
    if ([ADMIN_KEY, VIEWER_KEY, TOKEN_PREFIX].some((key) => url.includes(key)))
      faults.push(`a key in an address: ${url}`);
  });
}

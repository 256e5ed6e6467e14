// The screens and their paths. The URL is the only place where filters are kept.
import type { QueryClient } from '@tanstack/react-query';
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { deadlineError, isOutage, isSignedOut } from './api.ts';
import { readyQuery } from './live/outage.ts';
import { me } from './me.ts';
import { AwayScreen } from './screens/away-screen.tsx';
import { MissingScreen } from './parts/missing-screen.tsx';
import { Problem } from './parts/problem.tsx';
import { NotFound, Shell } from './shell.tsx';

/** A text of the query, or nothing. */
const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : typeof value === 'number' ? String(value) : undefined;

/** The named texts of a query; all others are left out. */
function texts<const Name extends string>(...names: Name[]) {
  return (search: Record<string, unknown>): { [Each in Name]?: string } =>
    Object.fromEntries(
      names.flatMap((name) => {
        const text = textOf(search[name]);
        return text === undefined ? [] : [[name, text]];
      }),
    ) as { [Each in Name]?: string };
}

/** A screen that is loaded when it is first needed. */
const screenOf = (load: () => Promise<() => ReactElement>) =>
  lazyRouteComponent(async () => ({ default: await load().catch(() => MissingScreen) }));

/** A page says within a second that it waits. */
const ANSWER_MS_MAX = 700;

/** Rejects with `no_answer_in_time` if there is none soon; the query continues, and its answer is used when it arrives. */
async function soon(answer: Promise<unknown>): Promise<void> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(deadlineError(location.host, ANSWER_MS_MAX)), ANSWER_MS_MAX);
  try {
    await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

const rootRoute = createRootRouteWithContext<{ queries: QueryClient }>()({
  component: Outlet,
  errorComponent: ({ error, reset }) => (
    <main className="sign-in">
      <Problem error={error} onRetry={reset} />
    </main>
  ),
});

const signInRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/sign-in',
  validateSearch: texts('to'),
  component: screenOf(async () => (await import('./screens/sign-in.tsx')).SignIn),
});

const appRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'app',
  component: App,
  notFoundComponent: NotFound,
  async beforeLoad({ context, location }) {
    // Read together: a banner that came later would push the screen down.
    const readiness = context.queries.prefetchQuery(readyQuery);
    try {
      await soon(context.queries.ensureQueryData({ ...me, retry: false }));
      await soon(readiness).catch(() => undefined);
    } catch (error) {
      if (isSignedOut(error)) throw redirect({ to: '/sign-in', search: { to: location.href } });
      if (!isOutage(error)) throw error;
      return { isAway: true };
    }
    return { isAway: false };
  },
});

/** The frame with the screen; during an outage, what is away. */
function App(): ReactElement {
  const { isAway } = appRoute.useRouteContext();
  return isAway ? <AwayScreen /> : <Shell />;
}

const screen = { getParentRoute: () => appRoute } as const;

const overviewRoute = createRoute({
  ...screen,
  path: '/',
  component: screenOf(async () => (await import('./screens/overview.tsx')).Overview),
});
const waitingRoute = createRoute({
  ...screen,
  path: '/waiting',
  validateSearch: texts('reason', 'lane', 'session', 'batch'),
  component: screenOf(async () => (await import('./screens/waiting.tsx')).WaitingScreen),
});
const turnsRoute = createRoute({
  ...screen,
  path: '/turns',
  validateSearch: texts(
    'session',
    'status',
    'kind',
    'lane',
    'since',
    'until',
    'agent',
    'model',
    'tool',
    'code',
    'worker',
    'batch',
    'minMs',
    'minCostUsd',
    'tag',
    'q',
    'columns',
  ),
  component: screenOf(async () => (await import('./screens/turns.tsx')).Turns),
});
const turnRoute = createRoute({
  ...screen,
  path: '/turns/$id',
  validateSearch: texts('tab', 'call', 'against', 'from', 'to'),
  component: screenOf(async () => (await import('./screens/turn.tsx')).TurnScreen),
});
const compareRoute = createRoute({
  ...screen,
  path: '/compare',
  validateSearch: texts('a', 'b', 'callA', 'callB'),
  component: screenOf(async () => (await import('./screens/compare.tsx')).Compare),
});
const sessionsRoute = createRoute({
  ...screen,
  path: '/sessions',
  validateSearch: texts('kind', 'status', 'agent', 'channel', 'tag', 'q', 'order', 'columns'),
  component: screenOf(async () => (await import('./screens/sessions.tsx')).Sessions),
});
const sessionRoute = createRoute({
  ...screen,
  path: '/sessions/$key',
  validateSearch: texts('state', 'transcript', 'beside', 'entry'),
  component: screenOf(async () => (await import('./screens/session.tsx')).SessionScreen),
});
const familyRoute = createRoute({
  ...screen,
  path: '/sessions/$key/family',
  component: screenOf(async () => (await import('./screens/family.tsx')).Family),
});
const cronsRoute = createRoute({
  ...screen,
  path: '/crons',
  validateSearch: texts('agent', 'enabled', 'new'),
  component: screenOf(async () => (await import('./screens/crons.tsx')).Crons),
});
const cronRoute = createRoute({
  ...screen,
  path: '/crons/$id',
  component: screenOf(async () => (await import('./screens/cron.tsx')).CronScreen),
});
const heartbeatsRoute = createRoute({
  ...screen,
  path: '/heartbeats',
  validateSearch: texts('agent', 'status'),
  component: screenOf(async () => (await import('./screens/heartbeats.tsx')).Heartbeats),
});
const processesRoute = createRoute({
  ...screen,
  path: '/processes',
  component: screenOf(async () => (await import('./screens/processes.tsx')).Processes),
});
const batchesRoute = createRoute({
  ...screen,
  path: '/batches',
  validateSearch: texts('status'),
  component: screenOf(async () => (await import('./screens/batches.tsx')).Batches),
});
const batchRoute = createRoute({
  ...screen,
  path: '/batches/$id',
  validateSearch: texts('status', 'code', 'q'),
  component: screenOf(async () => (await import('./screens/batch.tsx')).BatchScreen),
});
const costsRoute = createRoute({
  ...screen,
  path: '/costs',
  validateSearch: texts('by', 'group', 'tag'),
  component: screenOf(async () => (await import('./screens/costs.tsx')).Costs),
});
const deadLettersRoute = createRoute({
  ...screen,
  path: '/dead-letters',
  validateSearch: texts('code'),
  component: screenOf(async () => (await import('./screens/dead-letters.tsx')).DeadLetters),
});
const deliveriesRoute = createRoute({
  ...screen,
  path: '/deliveries',
  validateSearch: texts('status', 'channel', 'session', 'q', 'open'),
  component: screenOf(async () => (await import('./screens/deliveries.tsx')).Deliveries),
});
const eventsRoute = createRoute({
  ...screen,
  path: '/events',
  validateSearch: texts('types', 'session'),
  component: screenOf(async () => (await import('./screens/events.tsx')).Events),
});
const searchRoute = createRoute({
  ...screen,
  path: '/search',
  validateSearch: texts('q', 'kind', 'session'),
  component: screenOf(async () => (await import('./screens/search.tsx')).SearchScreen),
});
const settingsRoute = createRoute({
  ...screen,
  path: '/settings',
  validateSearch: texts('tab', 'q', 'only'),
  component: screenOf(async () => (await import('./screens/settings.tsx')).SettingsScreen),
});

const routeTree = rootRoute.addChildren([
  signInRoute,
  appRoute.addChildren([
    overviewRoute,
    waitingRoute,
    turnsRoute,
    turnRoute,
    compareRoute,
    sessionsRoute,
    sessionRoute,
    familyRoute,
    cronsRoute,
    cronRoute,
    heartbeatsRoute,
    processesRoute,
    batchesRoute,
    batchRoute,
    costsRoute,
    deliveriesRoute,
    deadLettersRoute,
    eventsRoute,
    searchRoute,
    settingsRoute,
  ]),
]);

export function createAppRouter(queries: QueryClient) {
  return createRouter({
    routeTree,
    context: { queries },
    defaultPreload: 'intent',
    scrollRestoration: true,
    defaultErrorComponent: ({ error, reset }) => <Problem error={error} onRetry={reset} />,
    defaultNotFoundComponent: NotFound,
  });
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createAppRouter>;
  }
}

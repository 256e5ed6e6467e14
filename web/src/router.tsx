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

/**
 * Rejects with `no_answer_in_time` if there is none soon; the query continues, and its answer is
 * used when it arrives.
 */
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
    // The overview is about the whole service.
    if (location.pathname === '/' && (await context.queries.ensureQueryData(me)).sees !== null)
      throw redirect({ to: '/sessions' });
    return { isAway: false };
  },
});

/** The frame with the screen; during an outage, what is away. */
function App(): ReactElement {
  const { isAway } = appRoute.useRouteContext();
  return isAway ? <AwayScreen /> : <Shell />;
}

/** A screen of the frame: its path, its file, and the texts of its query. */
const screen = <const Path extends string, const Name extends string = never>(
  path: Path,
  load: () => Promise<() => ReactElement>,
  ...names: Name[]
) =>
  createRoute({
    getParentRoute: () => appRoute,
    path,
    validateSearch: texts(...names),
    component: screenOf(load),
  });

const routeTree = rootRoute.addChildren([
  signInRoute,
  appRoute.addChildren([
    screen('/', async () => (await import('./screens/overview.tsx')).Overview),
    screen(
      '/waiting',
      async () => (await import('./screens/waiting.tsx')).WaitingScreen,
      'reason',
      'lane',
      'session',
      'batch',
      'open',
    ),
    screen(
      '/turns',
      async () => (await import('./screens/turns.tsx')).Turns,
      'session',
      'status',
      'kind',
      'lane',
      'since',
      'until',
      'agent',
      'model',
      'tool',
      'callStatus',
      'score',
      'code',
      'worker',
      'batch',
      'minMs',
      'minCostUsd',
      'tag',
      'q',
      'columns',
      'open',
    ),
    screen(
      '/turns/$id',
      async () => (await import('./screens/turn.tsx')).TurnScreen,
      'tab',
      'call',
      'against',
      'from',
      'to',
    ),
    screen('/compare', async () => (await import('./screens/compare.tsx')).Compare, 'a', 'b', 'callA', 'callB'),
    screen(
      '/sessions',
      async () => (await import('./screens/sessions.tsx')).Sessions,
      'kind',
      'status',
      'agent',
      'channel',
      'tag',
      'q',
      'order',
      'columns',
      'open',
    ),
    screen(
      '/sessions/$key',
      async () => (await import('./screens/session.tsx')).SessionScreen,
      'state',
      'transcript',
      'beside',
      'entry',
    ),
    screen('/sessions/$key/family', async () => (await import('./screens/family.tsx')).Family),
    screen('/agents', async () => (await import('./screens/agents.tsx')).Agents),
    screen('/agents/$id', async () => (await import('./screens/agent.tsx')).AgentScreen),
    screen('/approvals', async () => (await import('./screens/approvals.tsx')).Approvals, 'status', 'open'),
    screen('/channels', async () => (await import('./screens/channels.tsx')).Channels, 'status'),
    screen('/crons', async () => (await import('./screens/crons.tsx')).Crons, 'agent', 'enabled', 'new'),
    screen('/crons/$id', async () => (await import('./screens/cron.tsx')).CronScreen),
    screen('/heartbeats', async () => (await import('./screens/heartbeats.tsx')).Heartbeats, 'agent', 'status'),
    screen('/processes', async () => (await import('./screens/processes.tsx')).Processes),
    screen('/batches', async () => (await import('./screens/batches.tsx')).Batches, 'status'),
    screen(
      '/batches/$id',
      async () => (await import('./screens/batch.tsx')).BatchScreen,
      'status',
      'code',
      'q',
      'columns',
      'open',
    ),
    screen(
      '/evaluations',
      async () => (await import('./screens/evaluations.tsx')).Evaluations,
      'status',
      'dataset',
      'tab',
    ),
    screen(
      '/evaluations/$id',
      async () => (await import('./screens/evaluation.tsx')).EvaluationScreen,
      'candidate',
      'change',
      'tag',
      'open',
    ),
    screen('/costs', async () => (await import('./screens/costs.tsx')).Costs, 'by', 'group', 'tag'),
    screen('/dead-letters', async () => (await import('./screens/dead-letters.tsx')).DeadLetters, 'code', 'open'),
    screen(
      '/deliveries',
      async () => (await import('./screens/deliveries.tsx')).Deliveries,
      'status',
      'channel',
      'session',
      'q',
      'open',
    ),
    screen('/events', async () => (await import('./screens/events.tsx')).Events, 'types', 'session'),
    screen('/search', async () => (await import('./screens/search.tsx')).SearchScreen, 'q', 'kind', 'session'),
    screen('/settings', async () => (await import('./screens/settings.tsx')).SettingsScreen, 'tab', 'q', 'only'),
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

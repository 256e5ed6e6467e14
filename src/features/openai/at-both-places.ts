import type { Route } from '../../api/route.ts';

/** Routes under /v1, and the same under /openai/v1, where clients expect the paths of OpenAI. */
export function atBothPlaces(routes: readonly Route[]): Route[] {
  const others = routes.map((route) => ({
    ...route,
    path: `/openai${route.path}`,
    operationId: `${route.operationId}ForClients`,
  }));
  return [...routes, ...others];
}

// What an API with all features has: the routes, and what features add to them.
import { listParts, listRoutes } from '../src/api/route-table.ts';
import { FEATURES } from '../src/features.ts';

export const ROUTES = await listRoutes(FEATURES);
export const DOOR = { routes: ROUTES, parts: await listParts(FEATURES) };

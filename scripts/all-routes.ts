// The routes with all features, for what is made of them.
import { listRoutes } from '../src/api/route-table.ts';
import { FEATURES } from '../src/features.ts';

export const ROUTES = await listRoutes(FEATURES);

import { afterAll, beforeAll } from 'vitest';
import { startPostgresServer, type PostgresServer } from '../servers/postgres-server.ts';
import { createApiRig, type ApiRig, type ApiRigOptions } from './api-rig.ts';

export function useApiRig(options: ApiRigOptions = {}): { rig: ApiRig } {
  let server: PostgresServer | undefined;
  const holder = {} as { rig: ApiRig };
  beforeAll(async () => {
    server = await startPostgresServer();
    holder.rig = await createApiRig(server.url, options);
  });
  afterAll(async () => {
    await holder.rig?.close();
    await server?.stop();
  });
  return holder;
}

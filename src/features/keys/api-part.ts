// Opens an API with the keys and the sign-ins that are stored.
import type { CreateApiPart } from '../../api/part.ts';
import { KEY_PREFIX, noteUse } from './manage-keys.ts';
import { readValidApiKeys, readWebSessions } from './views.ts';

export const createApiPart: CreateApiPart = ({ views, service }) => ({
  storedKeys: {
    readKeys: () => readValidApiKeys(views),
    readSessions: (ids) => readWebSessions(views, ids),
    onUse: (id) => noteUse(service, id),
    prefix: KEY_PREFIX,
  },
});

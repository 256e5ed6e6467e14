// Opens an API with the tokens that this service has made.
import type { CreateApiPart } from '../../api/part.ts';
import { tokensOf } from './manage-tokens.ts';

export const createApiPart: CreateApiPart = ({ service }) => ({
  readToken: (token) => tokensOf(service.database).read(token),
});

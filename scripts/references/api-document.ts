// The OpenAPI document as the references read it: its operations in the order of the route table,
// and its named schemas.
import { openApiDocument } from '../../src/api/openapi.ts';
import { ROUTES } from '../all-routes.ts';
import type { Schema } from './schema-fields.ts';

export interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required: boolean;
  description: string;
  schema: Schema;
}

export interface Operation {
  /** `GET /v1/turns`. */
  place: string;
  operationId: string;
  /** The noun it belongs to. */
  tag: string;
  summary: string;
  parameters: Parameter[];
  body: { isRequired: boolean; schema: Schema } | null;
  answers: { status: string; description: string; contentType: string; schema: Schema | null }[];
  isOpenAi: boolean;
}

interface OperationDoc {
  operationId: string;
  tags: string[];
  summary: string;
  parameters: Parameter[];
  requestBody?: { required: boolean; content: Record<string, { schema: Schema }> };
  responses: Record<string, { description?: string; content?: Record<string, { schema?: Schema }> }>;
}

interface Document {
  paths: Record<string, Record<string, OperationDoc>>;
  components: { schemas: Record<string, Schema> };
}

export function apiDocument(): { operations: Operation[]; schemas: Record<string, Schema> } {
  const { paths, components } = JSON.parse(JSON.stringify(openApiDocument(ROUTES))) as Document;
  const openAi = new Set(
    ROUTES.filter(({ form }) => form !== undefined).map(({ method, path }) => `${method} ${path}`),
  );
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, doc]) => {
      const place = `${method.toUpperCase()} ${path}`;
      return { ...operationOf(doc), place, isOpenAi: openAi.has(place) };
    }),
  );
  return { operations, schemas: components.schemas };
}

function operationOf(doc: OperationDoc): Omit<Operation, 'place' | 'isOpenAi'> {
  const { operationId, summary, parameters, requestBody } = doc;
  return {
    operationId,
    tag: doc.tags[0] ?? '',
    summary,
    parameters,
    body:
      requestBody === undefined
        ? null
        : { isRequired: requestBody.required, schema: requestBody.content['application/json']?.schema ?? {} },
    answers: Object.entries(doc.responses)
      .filter(([status]) => status !== 'default')
      .map(([status, { description = '', content = {} }]) => {
        const [contentType = '', media] = Object.entries(content)[0] ?? [];
        return { status, description, contentType, schema: media?.schema ?? null };
      }),
  };
}
